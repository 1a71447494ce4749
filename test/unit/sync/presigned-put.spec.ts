import { createHash, randomBytes } from "node:crypto"
import { expect, test } from "@playwright/test"
import type { SinkResult } from "../../../src/client/index.ts"
import { presignedPut, type SignRequest } from "../../../src/sync/index.ts"
import { ObjectStore } from "../../fixtures/object-store.ts"
import { sinkOptions, sourceOf } from "../../fixtures/snapshot-source.ts"

let store: ObjectStore
test.beforeEach(async () => {
  store = await ObjectStore.start()
})
test.afterEach(() => store[Symbol.asyncDispose]())

const bytes = new Uint8Array(randomBytes(200_000))
const other = new Uint8Array(randomBytes(150_000))
const sha256 = (of: Uint8Array, as: "hex" | "base64" = "hex") => createHash("sha256").update(of).digest(as)
const retry = { minDelayMs: 1, maxDelayMs: 5 }

/** What is remembered of a push that gave this. */
const after = ({ tip, sha256, etag }: SinkResult) => ({ tip, sha256, etag })

test("the bytes are stored under a signed URL, with a SHA-256 only if the signature allows it", async () => {
  const sink = presignedPut({ url: await store.signPut() })
  const progress: number[] = []
  const result = await sink.write(
    sourceOf(bytes),
    sinkOptions({ onProgress: ({ doneBytes }) => progress.push(doneBytes) }),
  )
  expect(await store.read()).toEqual(bytes)
  expect(result).toEqual({
    ...{ size: bytes.length, sha256: sha256(bytes), tip: 5 },
    url: `${store.proxy.origin}/snapshots/agent.sqlite`,
    etag: expect.stringMatching(/^".+"$/),
  })
  expect(sink.target).toBe(result.url)
  expect(progress.at(-1)).toBe(bytes.length)
  expect(store.puts).toMatchObject([{ status: 200, checksum: undefined, ifNoneMatch: "*" }])
})

for (const asHeader of [true, false]) {
  test(`a signed checksum ${asHeader ? "is sent as a header" : "in the URL is left there"}, and the store's is compared`, async () => {
    const checksumSha256 = sha256(bytes, "base64")
    const url = await store.signPut({ checksumSha256, asHeader })
    await presignedPut({ url }).write(sourceOf(bytes), sinkOptions())
    expect(store.puts).toMatchObject([{ status: 200, checksum: checksumSha256 }])

    store.corruptNext = true
    const again = presignedPut({ url, conditional: false }).write(sourceOf(bytes), sinkOptions())
    await expect(again).rejects.toMatchObject({ code: "data_loss" })
  })
}

test("a function is asked for a URL once the content is known, and signs its checksum", async () => {
  const asked: SignRequest[] = []
  const sink = presignedPut({
    target: "the agent's snapshot",
    url: async (request) => {
      asked.push(request)
      return { url: await store.signPut({ checksumSha256: request.checksumSha256, asHeader: true }) }
    },
  })
  await sink.write(sourceOf(bytes), sinkOptions())
  expect(asked).toEqual([
    {
      ...{ databaseId: "DB_test", tip: 5, size: bytes.length, reason: "first" },
      ...{ sha256: sha256(bytes), checksumSha256: sha256(bytes, "base64") },
    },
  ])
  expect(store.puts).toMatchObject([{ status: 200, checksum: sha256(bytes, "base64") }])
})

test("a URL signed for other content is not used", async () => {
  const url = await store.signPut({ checksumSha256: sha256(other, "base64") })
  await expect(presignedPut({ url }).write(sourceOf(bytes), sinkOptions())).rejects.toMatchObject({
    code: "invalid_argument",
  })
  expect(store.puts).toEqual([])

  const reasons: string[] = []
  const sink = presignedPut({
    url,
    onExpired: ({ reason, checksumSha256 }) => {
      reasons.push(reason)
      return store.signPut({ checksumSha256 })
    },
  })
  await sink.write(sourceOf(bytes), sinkOptions())
  expect(reasons).toEqual(["changed"])
  expect(await store.read()).toEqual(bytes)
})

test("an expired signature asks for a new one; with nobody to ask it is permission_denied", async () => {
  const expired = { expiresIn: 1, signingDate: new Date(Date.now() - 60_000) }
  const url = await store.signPut(expired)
  await expect(presignedPut({ url }).write(sourceOf(bytes), sinkOptions())).rejects.toMatchObject({
    code: "permission_denied",
    message: expect.stringContaining("expired"),
  })
  const reasons: string[] = []
  const onExpired = ({ reason }: SignRequest) => {
    reasons.push(reason)
    return store.signPut()
  }
  await presignedPut({ url, onExpired }).write(sourceOf(bytes), sinkOptions())
  expect(reasons).toEqual(["expired"])

  // Only the store knows of this one, and a signer whose clock is wrong is not asked for ever.
  const body = "<Code>AccessDenied</Code><Message>Request has expired</Message>"
  store.refusals.push({ status: 403, body })
  await presignedPut({ url: await store.signPut(), onExpired, conditional: false }).write(
    sourceOf(other),
    sinkOptions(),
  )
  expect(await store.read()).toEqual(other)
  const useless = presignedPut({ url, onExpired: () => url, conditional: false }).write(sourceOf(bytes), sinkOptions())
  await expect(useless).rejects.toMatchObject({ code: "permission_denied" })
})

test("a signature that does not fit is permission_denied at once, with what the store says", async () => {
  const url = new URL(await store.signPut())
  url.searchParams.set("X-Amz-Signature", "0".repeat(64))
  await expect(presignedPut({ url }).write(sourceOf(bytes), sinkOptions())).rejects.toMatchObject({
    code: "permission_denied",
    message: expect.stringContaining("SignatureDoesNotMatch"),
  })
  expect(store.puts).toHaveLength(1)
})

test("5xx, 429 and lost connections are tried again, Retry-After is waited for, and there is an end to it", async () => {
  const url = await store.signPut()
  store.refusals.push({ status: 503 }, { status: 429, headers: { "retry-after": "1" } }, { status: 500 })
  store.proxy.cutAt({ afterBytes: 50_000 })
  const started = performance.now()
  await presignedPut({ url, retry }).write(sourceOf(bytes), sinkOptions())
  expect(performance.now() - started).toBeGreaterThanOrEqual(1_000)
  expect(store.puts.map(({ status }) => status)).toEqual([503, 429, 500, 200])
  expect(store.proxy.cuts).toBe(1)
  expect(await store.read()).toEqual(bytes)

  store.refusals.push({ status: 503 }, { status: 503 }, { status: 503 })
  const lost = presignedPut({ url, conditional: false, retry: { ...retry, attempts: 3 } })
  await expect(lost.write(sourceOf(other), sinkOptions())).rejects.toMatchObject({ code: "unavailable" })
  expect(store.refusals).toEqual([])
  expect(await store.read()).toEqual(bytes)
})

test("only what this browser put there is replaced", async () => {
  const url = await store.signPut()
  const first = await presignedPut({ url }).write(sourceOf(bytes, 5), sinkOptions())
  const second = await presignedPut({ url }).write(sourceOf(other, 6), sinkOptions({ last: after(first) }))
  expect(store.puts).toMatchObject([{ ifNoneMatch: "*" }, { ifMatch: first.etag }])

  // Somebody who knows nothing, and somebody who knows the first only.
  for (const last of [undefined, after(first)]) {
    const stale = presignedPut({ url }).write(sourceOf(bytes, 5), sinkOptions({ last }))
    await expect(stale).rejects.toMatchObject({ code: "failed_precondition" })
  }
  expect(await store.read()).toEqual(other)

  const pulled = presignedPut({ url, etag: second.etag ?? "" })
  await pulled.write(sourceOf(bytes, 7), sinkOptions())
  await presignedPut({ url }).write(sourceOf(other, 5), sinkOptions({ force: true }))
  expect(await store.read()).toEqual(other)
})

test("with `head` a conflict shows before anything is sent, and equal content is not sent again", async () => {
  const [url, head] = await Promise.all([store.signPut(), store.signHead()])
  const first = await presignedPut({ url, head }).write(sourceOf(bytes), sinkOptions())
  expect(await presignedPut({ url, head }).write(sourceOf(bytes, 9), sinkOptions())).toEqual({ ...first, tip: 9 })
  const conflict = presignedPut({ url, head }).write(sourceOf(other), sinkOptions())
  await expect(conflict).rejects.toMatchObject({ code: "failed_precondition" })
  expect(store.puts).toHaveLength(1)
})

test("an upload that arrived without an answer is known again by `head`, at once or in the next push", async () => {
  const [url, head] = await Promise.all([store.signPut(), store.signHead()])
  store.proxy.cutAt({})
  const first = await presignedPut({ url, head, retry }).write(sourceOf(bytes), sinkOptions())
  expect(store.puts.map(({ status }) => status)).toEqual([200])
  expect(store.proxy.cuts).toBe(1)
  expect(first.sha256).toBe(sha256(bytes))

  // The page was killed before it heard of this one, and the database has changed since.
  await presignedPut({ url }).write(sourceOf(other, 6), sinkOptions({ last: after(first) }))
  const newest = new Uint8Array([...other, 1])
  const unfinished = { tip: 6, sha256: sha256(other) }
  await presignedPut({ url, head }).write(sourceOf(newest, 7), sinkOptions({ last: after(first), unfinished }))
  expect(await store.read()).toEqual(newest)
})

test("a target that shows no ETag is not overwritten blindly", async () => {
  const source = sourceOf(bytes)
  const last = { tip: 4, sha256: sha256(other) }
  const sink = presignedPut({ url: await store.signPut() })
  await expect(sink.write(source, sinkOptions({ last }))).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("ETag"),
  })
  expect(store.puts).toEqual([])
})

test("an abort in the middle ends it with canceled and leaves nothing", async () => {
  const controller = new AbortController()
  store.refusals.push({ status: 503, headers: { "retry-after": "60" } })
  const pushed = presignedPut({ url: await store.signPut() }).write(
    sourceOf(bytes),
    sinkOptions({ signal: controller.signal }),
  )
  const failed = expect(pushed).rejects.toMatchObject({ code: "canceled", name: "AbortError" })
  await expect.poll(() => store.puts.length).toBe(1)
  controller.abort()
  await failed
  expect(await store.read()).toBeUndefined()
})

test("what can't be is refused at once", () => {
  expect(() => presignedPut({ url: "no url" })).toThrow(expect.objectContaining({ code: "invalid_argument" }))
  const unnamed = { url: () => "http://localhost/" } as unknown as { url: string }
  expect(() => presignedPut(unnamed)).toThrow(expect.objectContaining({ code: "invalid_argument" }))
})
