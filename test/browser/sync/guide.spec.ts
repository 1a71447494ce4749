import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import type { Server } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import type { S3Client } from "@aws-sdk/client-s3"
import type { Page } from "@playwright/test"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import type { PushChangesResult, PushResult } from "../../../src/sync/index.ts"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { startServer } from "../../fixtures/node-server.ts"
import { ObjectStore } from "../../fixtures/object-store.ts"
import { examplesOf } from "../../fixtures/sample-project.ts"
import { token } from "../../fixtures/service.ts"
import { cache } from "../../tools/paths.mjs"
import { addRow, fill, sha256 } from "./pushing.ts"

const guides = ["src/sync/README.md", "src/sync/replay/README.md"]
const files = new Map(guides.flatMap((guide) => [...examplesOf(guide).files]))

let folder = ""
test.beforeEach(async () => {
  await mkdir(cache, { recursive: true })
  // In the repository, where its packages are found.
  folder = await mkdtemp(join(cache, "guide-"))
  for (const [name, code] of files) await writeFile(join(folder, name.replace(/\.js$/, ".mjs")), code)
})
test.afterEach(() => rm(folder, { recursive: true }))

const load = (name: string) => import(join(folder, `${name}.mjs`))

const call = <T = PushResult>(page: Page, name: string, ...args: unknown[]): Promise<T> =>
  page.evaluate(`${expressionOf(name)}(...${JSON.stringify(args)})`)

/** The function that an example exports, as code for a page without a bundler. */
function expressionOf(name: string): string {
  const code = (files.get(name) ?? "")
    .replaceAll(/import (\{.*\}) from "agentdb-web"/g, "const $1 = window.agentdbWeb")
    .replaceAll(/import (\{.*\}) from "agentdb-web\/(client|sync)"/g, "const $1 = window.agentdbWeb.$2")
  expect(code).not.toContain("import ")
  const [before = "", body = ""] = code.split("export ")
  return `(() => { ${before}; return (${body}) })()`
}

test("the guide's way to S3 works as it stands", async ({ page, site }) => {
  await using store = await ObjectStore.start()
  const { sign } = (await load("sign")) as { sign(request: unknown, client: S3Client): Promise<unknown> }
  await openHarness(page, site.plain)
  await page.route("**/sign", async (route) => {
    await route.fulfill({ json: await sign(route.request().postDataJSON(), store.userClient()) })
  })
  const databaseId = await fill(page, 100)
  const result = await call(page, "back-up.js", databaseId)
  expect(store.puts).toMatchObject([{ status: 200, checksum: Buffer.from(result.sha256, "hex").toString("base64") }])
  expect(sha256((await store.read(`${databaseId}.sqlite`)) as Uint8Array)).toBe(result.sha256)

  const url = JSON.stringify(await store.signGet({ key: `${databaseId}.sqlite` }))
  const counted = `(db) => db.query("SELECT count(*) AS n FROM sqlite_schema").first()`
  expect(await page.evaluate(`${expressionOf("pull.js")}(${url}).then(${counted})`)).toEqual({ n: 1 })
})

test("the guide's way to a tus server works as it stands, and its server refuses older snapshots", async ({
  page,
  context,
  site,
}) => {
  const { serveUploads } = (await load("tus-server")) as { serveUploads(port: number, folder: string): Server }
  const uploads = join(folder, "uploads")
  await mkdir(uploads)
  const server = serveUploads(0, uploads)
  await new Promise((resolve) => server.once("listening", resolve))
  try {
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}/files`
    await openHarness(page, site.plain)
    const databaseId = await fill(page, 100)
    const { url, sha256: written } = await call(page, "upload.js", databaseId, endpoint)
    expect(sha256(await readFile(join(uploads, new URL(url ?? "").pathname.split("/").pop() ?? "")))).toBe(written)
    // As if it had never pushed.
    await page.evaluate(() => window.agentdbWeb.sync.forgetPushes())
    await expect(call(page, "upload.js", databaseId, endpoint)).rejects.toThrow(/409: a newer snapshot is here/)
  } finally {
    await context.close()
    server.closeAllConnections()
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
})

test("the guide's way to another AgentDB works as it stands, and so does sending only what changed", async ({
  page,
  site,
}) => {
  await using server = await startServer()
  const service = new AgentDBServiceClient({ url: server.url, token: token() })
  await openHarness(page, site.plain)
  const databaseId = await fill(page, 100)
  const target = { url: server.url, wsUrl: server.wsUrl, token: token() }
  const pushed = await call(page, "replicate.js", databaseId, target)
  expect(pushed).toMatchObject({ sink: "replay", target: server.url, pushed: true })
  expect(await service.getDatabase(pushed.databaseId ?? "")).toMatchObject({ databaseId: pushed.databaseId })

  const first = await call<PushChangesResult>(page, "send-changes.js", databaseId, target)
  expect(first).toMatchObject({ mode: "snapshot", reason: expect.stringContaining("nothing was pushed before") })
  await addRow(page, databaseId)
  const second = await call<PushChangesResult>(page, "send-changes.js", databaseId, target)
  expect(second).toMatchObject({ mode: "changes", rows: 1, databaseId: first.databaseId })
})
