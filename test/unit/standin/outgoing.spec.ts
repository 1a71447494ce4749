import { expect, test } from "@playwright/test"
import { Outgoing } from "../../../src/standin/outgoing.ts"
import { payloadOf } from "../../../src/standin/payload.ts"

/** A Blob whose bytes come, or fail, when the test says so. */
function slowBlob(size: number) {
  let settle = { resolve: (_: ArrayBuffer) => {}, reject: (_: Error) => {} }
  const promise = new Promise<ArrayBuffer>((resolve, reject) => {
    settle = { resolve, reject }
  })
  const blob = new Blob([new Uint8Array(size)])
  blob.arrayBuffer = () => promise
  return {
    blob,
    finish: () => settle.resolve(new ArrayBuffer(size)),
    fail: () => settle.reject(new Error("unreadable")),
  }
}

function outgoing() {
  const log: (string | number)[] = []
  const out = new Outgoing({
    pass: (body) => log.push(typeof body === "string" ? body : body.byteLength),
    fail: () => log.push("failed"),
  })
  return { out, log }
}

const task = () => new Promise((resolve) => setTimeout(resolve, 5))

test("what comes behind a Blob waits for it, and so does the close", async () => {
  const { out, log } = outgoing()
  const { blob, finish } = slowBlob(3)
  out.push(payloadOf("first"))
  out.push(payloadOf(blob))
  out.push(payloadOf(new Uint8Array(2)))
  out.whenEmpty(() => log.push("empty"))
  await expect.poll(() => out.buffered).toBe(5)
  expect(log).toEqual(["first"])
  finish()
  await expect.poll(() => out.buffered).toBe(0)
  expect(log).toEqual(["first", 3, 2, "empty"])
})

test("bytes that never leave count for good", async () => {
  const { out, log } = outgoing()
  const { blob, finish } = slowBlob(3)
  out.push(payloadOf("passed"))
  out.push(payloadOf(blob))
  out.push(payloadOf("behind"))
  out.stop()
  finish()
  await task()
  out.discard(payloadOf("late"))
  expect(log).toEqual(["passed"])
  expect(out.buffered).toBe(3 + 6 + 4)
})

test("a Blob that can't be read fails, and nothing behind it is passed", async () => {
  const { out, log } = outgoing()
  const { blob, fail } = slowBlob(3)
  out.push(payloadOf(blob))
  out.push(payloadOf("behind"))
  fail()
  await task()
  expect(log).toEqual(["failed"])
})

test("shared bytes are refused", () => {
  const shared = new SharedArrayBuffer(4)
  expect(() => payloadOf(new Uint8Array(shared))).toThrow(TypeError)
  // By itself it is no kind of bytes, so it is text.
  expect(payloadOf(shared).body).toBe("[object SharedArrayBuffer]")
})
