import { expect, test } from "@playwright/test"
import { DumpDownloads } from "../../../src/standin/dump-downloads.ts"

const folder = "https://host.example/dumps/"
const soon = () => Math.floor(Date.now() / 1000) + 60

test("a dump is served at its address, with or without a query, and nowhere else", async () => {
  const downloads = new DumpDownloads(folder)
  const url = downloads.publish(new Blob(["bytes"]), { expiresAt: soon() })
  expect(downloads.has(new URL(`${url}?download#now`))).toBe(true)
  expect(downloads.has(new URL(`${folder}other.sqlite`))).toBe(false)
  expect(downloads.has(new URL(url.replace("https", "http")))).toBe(false)
  const response = downloads.answer(new Request(`${url}?download`))
  expect(response.status).toBe(200)
  expect(response.headers.get("content-length")).toBe("5")
  expect(await response.text()).toBe("bytes")
})

test("every dump has an address of its own", () => {
  const downloads = new DumpDownloads(folder)
  const urls = Array.from({ length: 100 }, () => downloads.publish(new Blob(), { expiresAt: soon() }))
  expect(new Set(urls).size).toBe(100)
})

test("an expired dump is gone, and its address is still known", async () => {
  const downloads = new DumpDownloads(folder)
  const url = downloads.publish(new Blob(["bytes"]), { expiresAt: Math.floor(Date.now() / 1000) - 1 })
  expect(downloads.has(new URL(url))).toBe(true)
  expect(downloads.answer(new Request(url)).status).toBe(404)
  expect(downloads.answer(new Request(url, { method: "HEAD" })).status).toBe(404)
})

test("an aborted request throws the signal's reason", () => {
  const downloads = new DumpDownloads(folder)
  const url = downloads.publish(new Blob(["bytes"]), { expiresAt: soon() })
  const reason = new Error("enough")
  expect(() => downloads.answer(new Request(url, { signal: AbortSignal.abort(reason) }))).toThrow(reason)
})
