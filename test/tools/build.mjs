import { ensureInstalled } from "./install.mjs"

ensureInstalled()
const { withBuildLock } = await import("./lock.mjs")
const { buildPackage } = await import("./build-package.mjs")
try {
  await withBuildLock(() => buildPackage({ types: "strict" }))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exit(1)
}
