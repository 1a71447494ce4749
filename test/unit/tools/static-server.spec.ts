import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "@playwright/test"
import { serveFolder } from "../../tools/static-server.mjs"

let folder = ""
let server: Awaited<ReturnType<typeof serveFolder>>
test.beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "agentdb-static-"))
  await mkdir(join(folder, "public"))
  await writeFile(join(folder, "secret.txt"), "secret")
  await writeFile(join(folder, "public/index.html"), "<p>home")
  await writeFile(join(folder, "public/a.wasm"), "wasm")
  server = await serveFolder(join(folder, "public"), { headers: { "x-mark": "1" } })
})
test.afterEach(async () => {
  await server.close()
  await rm(folder, { recursive: true })
})

/** Asks for a path as it stands, where `fetch` would normalise it. */
function get(path: string): Promise<{ status: number | undefined; body: string }> {
  return new Promise((resolve, reject) => {
    const asked = request({ host: "127.0.0.1", port: server.port, path }, (response) => {
      let body = ""
      response.on("data", (data) => {
        body += data
      })
      response.on("end", () => resolve({ status: response.statusCode, body }))
    })
    asked.on("error", reject).end()
  })
}

test("files come with their type and the headers asked for", async () => {
  const home = await fetch(server.url)
  expect(await home.text()).toBe("<p>home")
  expect(home.headers.get("content-type")).toBe("text/html; charset=utf-8")
  expect(home.headers.get("x-mark")).toBe("1")
  expect((await fetch(`${server.url}/a.wasm`)).headers.get("content-type")).toBe("application/wasm")
})

test("nothing outside the folder is served", async () => {
  for (const path of ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//../secret.txt", "/%", "/%00"]) {
    const { status, body } = await get(path)
    expect(status, path).toBe(404)
    expect(body).not.toContain("secret")
  }
})

test("a port that is taken is an error that says so", async () => {
  await expect(serveFolder(folder, { port: server.port })).rejects.toMatchObject({ code: "EADDRINUSE" })
})
