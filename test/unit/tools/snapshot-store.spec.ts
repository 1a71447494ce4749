import { createHash } from "node:crypto"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "@playwright/test"
import { openSnapshotStore } from "../../tools/snapshot-store.mjs"
import { serveFolder } from "../../tools/static-server.mjs"

let folder = ""
let server: Awaited<ReturnType<typeof serveFolder>>
test.beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentdb-store-"))
  await writeFile(join(folder, "receiving-1.part"), "cut by a kill")
  await writeFile(join(folder, "notes.txt"), "somebody's own")
  server = await serveFolder(folder, { before: await openSnapshotStore(folder) })
})
test.afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

const name = "DB_one.sqlite"
const urlOf = (path = name) => `${server.url}/snapshots/${path}`
const put = (body: string, headers: Record<string, string> = {}) => fetch(urlOf(), { method: "PUT", body, headers })
const etagOf = (content: string) => `"${createHash("sha256").update(content).digest("hex")}"`

test("what was put is listed, tells its version, and is read whole or from some byte", async () => {
  expect(await readdir(folder)).toEqual(["notes.txt"])
  expect(await (await fetch(urlOf(""))).json()).toEqual([])
  expect((await fetch(urlOf())).status).toBe(404)
  const answer = await put("content")
  expect([answer.status, answer.headers.get("etag")]).toEqual([200, etagOf("content")])
  const [listed, ...more] = await (await fetch(urlOf(""))).json()
  expect(listed).toEqual({ name, size: 7, savedAt: expect.any(Number) })
  expect(more).toEqual([])
  const got = await fetch(urlOf())
  expect([await got.text(), got.headers.get("etag")]).toEqual(["content", etagOf("content")])
  const head = await fetch(urlOf(), { method: "HEAD" })
  expect([head.headers.get("content-length"), await head.text()]).toEqual(["7", ""])
  const rest = await fetch(urlOf(), { headers: { range: "bytes=3-", "if-range": etagOf("content") } })
  expect([rest.status, await rest.text(), rest.headers.get("content-range")]).toEqual([206, "tent", "bytes 3-6/7"])
  const other = await fetch(urlOf(), { headers: { range: "bytes=3-", "if-range": '"old"' } })
  expect([other.status, await other.text()]).toEqual([200, "content"])
  expect((await fetch(urlOf(), { headers: { range: "bytes=7-" } })).status).toBe(416)
})

test("conditions are heeded, also for what was changed by hand, and a wrong checksum is refused", async () => {
  expect((await put("one", { "if-match": etagOf("one") })).status).toBe(412)
  expect((await put("one", { "if-none-match": "*" })).status).toBe(200)
  expect((await put("two", { "if-none-match": "*" })).status).toBe(412)
  expect((await put("two", { "if-match": etagOf("one") })).status).toBe(200)
  await writeFile(join(folder, name), "by hand")
  expect((await put("three", { "if-match": etagOf("two") })).status).toBe(412)
  expect((await put("three", { "if-match": etagOf("by hand") })).status).toBe(200)
  const wrong = Buffer.alloc(32).toString("base64")
  expect((await put("four", { "x-amz-checksum-sha256": wrong })).status).toBe(400)
  expect(await readFile(join(folder, name), "utf8")).toBe("three")
  expect((await readdir(folder)).sort()).toEqual([name, "notes.txt"])
})

test("a PUT that is cut leaves what was there, and nothing else", async () => {
  await put("before")
  const cut = request(urlOf(), { method: "PUT", headers: { "content-length": "1000" } })
  cut.on("error", () => {})
  cut.write("a part")
  await expect.poll(async () => (await readdir(folder)).length).toBe(3)
  cut.destroy()
  await expect.poll(async () => (await readdir(folder)).sort()).toEqual([name, "notes.txt"])
  expect(await (await fetch(urlOf())).text()).toBe("before")
})

test("only snapshots are reached, and only by pages of this machine", async () => {
  for (const path of ["notes.txt", "../notes.txt", "..%2fnotes.txt", "DB_.sqlite", "receiving-1.part", `x/${name}`]) {
    const answers = await Promise.all(["GET", "PUT"].map((method) => fetch(urlOf(path), { method })))
    // What a path resolves to outside of the store is the server's own business.
    if (!path.startsWith("../")) expect(answers.map(({ status }) => status)).toEqual([404, 404])
  }
  expect((await fetch(urlOf(), { method: "DELETE" })).status).toBe(405)
  const status = await new Promise((resolve) =>
    request(urlOf(""), { headers: { host: "elsewhere.example" } }, (response) => resolve(response.statusCode)).end(),
  )
  expect(status).toBe(403)
  expect(await readdir(folder)).toEqual(["notes.txt"])
})
