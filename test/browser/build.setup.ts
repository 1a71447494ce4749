import { test as setup } from "@playwright/test"
import { buildEverything } from "../fixtures/harness-folder.ts"

setup("the package and the test page build", async () => {
  setup.setTimeout(300_000)
  await buildEverything()
})
