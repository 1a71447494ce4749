import { readFileSync } from "node:fs"
import { createServer, type RequestListener } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { expect, test } from "@playwright/test"
import { loadEngine } from "../../../src/sqlite/load.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"

const wasm = readFileSync(createRequire(import.meta.url).resolve("@sqlite.org/sqlite-wasm/sqlite3.wasm"))

async function serving<T>(listener: RequestListener, use: (origin: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, "127.0.0.1")
  await new Promise((resolve) => server.once("listening", resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.close()
  }
}

const load = (url: string) => loadEngine({ wasm: url, storage: new MemoryStorage() })

for (const type of ["application/wasm", "application/wasm; charset=utf-8", "application/octet-stream", undefined]) {
  test(`the wasm loads from a URL served as ${type}`, async () => {
    const listener: RequestListener = (_request, response) => {
      if (type) response.setHeader("content-type", type)
      response.end(wasm)
    }
    const engine = await serving(listener, (origin) => load(`${origin}/sqlite3.wasm`))
    expect(engine.codeName(2067)).toBe("SQLITE_CONSTRAINT_UNIQUE")
  })
}

test("a web page instead of the wasm is told as that, with the URL", async () => {
  await serving(
    (_request, response) => response.setHeader("content-type", "text/html").end("<!doctype html>"),
    async (origin) => {
      await expect(load(`${origin}/app/sqlite3.wasm`)).rejects.toMatchObject({
        code: "internal",
        message: expect.stringMatching(/app\/sqlite3\.wasm: an HTML page came back/),
      })
    },
  )
})

test("a missing file and a dead server are told with the URL", async () => {
  const url = await serving(
    (_request, response) => response.writeHead(404).end(),
    async (origin) => {
      await expect(load(`${origin}/x.wasm`)).rejects.toMatchObject({
        message: expect.stringMatching(/x\.wasm: status 404/),
      })
      return `${origin}/y.wasm`
    },
  )
  await expect(load(url)).rejects.toMatchObject({ code: "internal", message: expect.stringContaining("y.wasm") })
})

test("bytes that are no wasm are an error", async () => {
  await expect(loadEngine({ wasm: new Uint8Array(8), storage: new MemoryStorage() })).rejects.toThrow()
})
