import { sha256 } from "@noble/hashes/sha2.js"
import { expect, test } from "@playwright/test"
import { CloseCode } from "../../../src/link/link.ts"
import { loadEngine } from "../../../src/sqlite/load.ts"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { TestService, token, wasmBytes } from "../../fixtures/service.ts"
import { HandClock } from "../../fuzz/hand-clock.ts"

type Role = "main" | "wal" | "meta"

/** Inverts bytes of a file. */
async function invert(storage: MemoryStorage, id: string, role: Role, from: number, to: number): Promise<void> {
  const file = (await storage.open("devkey", id))[role]
  const bytes = new Uint8Array(to - from)
  const found = bytes.subarray(0, file.read(bytes, { at: from }))
  file.write(
    found.map((byte) => ~byte),
    { at: from },
  )
}

async function contents(storage: MemoryStorage, id: string): Promise<Record<string, string>> {
  const files = await storage.rawFiles("devkey", id)
  return Object.fromEntries(
    await Promise.all(
      files.map(async ({ name, content }) => [name, Buffer.from(await content.arrayBuffer()).toString("base64")]),
    ),
  )
}

/** A service that was killed (its storage is what it wrote) with 500 acknowledged rows, or one that was closed. */
async function leave(end: "killed" | "closed"): Promise<{ storage: MemoryStorage; damaged: string; sound: string }> {
  const storage = new MemoryStorage()
  // Its clock stands still, so that the killed one does nothing any more.
  const at = await TestService.start({}, { storage, clock: new HandClock() })
  const damaged = at.databaseId
  const { databaseId: sound } = await at.management.create()
  for (const id of [damaged, sound]) {
    const peer = await at.connect(id)
    await peer.exec("CREATE TABLE t(x)")
    await peer.exec(
      "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n<500) INSERT INTO t SELECT randomblob(100) FROM c",
    )
  }
  if (end === "closed") await at.service.close()
  return { storage, damaged, sound }
}

interface Damage {
  readonly what: string
  readonly end: "killed" | "closed"
  readonly message: RegExp
  readonly inflict: (storage: MemoryStorage, id: string) => Promise<unknown>
}

const truncate = (role: Role, size: (now: number) => number) => async (storage: MemoryStorage, id: string) => {
  const file = (await storage.open("devkey", id))[role]
  file.truncate(size(file.getSize()))
}

const damages: Damage[] = [
  {
    what: "a header of garbage",
    end: "closed",
    message: /not a database/,
    inflict: (s, id) => invert(s, id, "main", 0, 100),
  },
  { what: "a file cut in half", end: "closed", message: /malformed/, inflict: truncate("main", (now) => now / 2) },
  { what: "an empty file", end: "closed", message: /empty/, inflict: truncate("main", () => 0) },
  { what: "an empty file beside a full WAL", end: "killed", message: /empty/, inflict: truncate("main", () => 0) },
  {
    what: "both records of the meta file",
    end: "closed",
    message: /record/,
    inflict: (s, id) => invert(s, id, "meta", 0, 8192),
  },
  { what: "an empty meta file", end: "closed", message: /record/, inflict: truncate("meta", () => 0) },
  { what: "a WAL header of garbage", end: "killed", message: /WAL/, inflict: (s, id) => invert(s, id, "wal", 0, 32) },
  {
    what: "a WAL with a bad frame",
    end: "killed",
    message: /WAL/,
    inflict: (s, id) => invert(s, id, "wal", 9_000, 9_010),
  },
  { what: "a WAL cut in half", end: "killed", message: /WAL/, inflict: truncate("wal", () => 8_000) },
  { what: "an emptied WAL", end: "killed", message: /WAL/, inflict: truncate("wal", () => 0) },
]

for (const { what, end, message, inflict } of damages) {
  test(`a corrupt file is refused with data_loss and its bytes are kept: ${what}`, async () => {
    const { storage, damaged, sound } = await leave(end)
    await inflict(storage, damaged)
    const before = await contents(storage, damaged)
    const engine = await loadEngine({ wasm: wasmBytes(), storage })
    // Twice: what the first start did must not hide it from the second.
    for (let start = 0; start < 2; start++) {
      await using at = await TestService.start({}, { storage, engine })
      const hello = await at.socket().hello(token(), damaged)
      expect(hello.error).toMatchObject({ code: "data_loss", message: expect.stringMatching(message) })
      await expect(at.management.get(damaged)).rejects.toMatchObject({ code: "data_loss" })
      await expect(at.management.dump(damaged, async () => "")).rejects.toMatchObject({ code: "data_loss" })
      // It is not hidden, and not in the way of others.
      const { databases } = await at.management.list()
      expect(databases.map(({ databaseId }) => databaseId)).toEqual(expect.arrayContaining([damaged, sound]))
      const other = await at.connect(sound)
      expect((await other.query("SELECT count(*) FROM t")).rows).toEqual([[500n]])
      const { "data.sqlite": main, "data.sqlite-wal": wal } = await contents(storage, damaged)
      expect([main, wal]).toEqual([before["data.sqlite"], before["data.sqlite-wal"]])
      const raw = await at.management.rawFiles(damaged)
      expect(raw.map(({ name }) => name)).toEqual(["data.sqlite", "data.sqlite-wal", "meta"])
    }
    await using at = await TestService.start({}, { storage, engine })
    await at.management.delete(damaged)
    expect(await storage.databases("devkey")).not.toContain(damaged)
  })
}

test("damage that is met while it runs ends the sockets with data_loss, and nothing is written any more", async () => {
  const { storage, damaged, sound } = await leave("closed")
  await invert(storage, damaged, "main", 4096 * 5, 4096 * 9)
  await using at = await TestService.start({}, { storage })
  const [peer, other] = [await at.connect(damaged), await at.connect(sound)]
  const before = await contents(storage, damaged)
  const answer = await peer.query("SELECT sum(length(x)) FROM t")
  expect(answer.error).toMatchObject({ code: "data_loss", message: expect.stringContaining("SQLITE_CORRUPT") })
  expect(await peer.closed).toMatchObject({ code: CloseCode.internal })
  expect((await at.socket().hello(token(), damaged)).error?.code).toBe("data_loss")
  expect((await other.query("SELECT count(*) FROM t")).rows).toEqual([[500n]])
  const after = await contents(storage, damaged)
  expect([after["data.sqlite"], after["data.sqlite-wal"]]).toEqual([before["data.sqlite"], before["data.sqlite-wal"]])
})

test("a database of a newer version is refused with the versions named, and nothing of it is touched", async () => {
  const { storage, damaged: newer, sound } = await leave("closed")
  const { meta } = await storage.open("devkey", newer)
  for (const at of [0, 4096]) {
    const slot = new Uint8Array(4096)
    meta.read(slot, { at })
    new DataView(slot.buffer).setUint32(4, 2)
    slot.set(sha256(slot.subarray(0, 4080)).subarray(0, 16), 4080)
    meta.write(slot, { at })
  }
  const before = await contents(storage, newer)
  await using at = await TestService.start({}, { storage })
  const refusal = { code: "failed_precondition", message: expect.stringMatching(/format 2.*up to 1/) }
  expect((await at.socket().hello(token(), newer)).error).toMatchObject(refusal)
  await expect(at.management.delete(newer)).rejects.toMatchObject(refusal)
  expect((await at.management.list()).databases.map(({ databaseId }) => databaseId)).toContain(newer)
  expect((await (await at.connect(sound)).query("SELECT count(*) FROM t")).rows).toEqual([[500n]])
  await at.service.close()
  expect(await contents(storage, newer)).toEqual(before)
})

test("the files of a database that is whole are not given out raw", async () => {
  await using at = await TestService.start()
  await expect(at.management.rawFiles(at.databaseId)).rejects.toMatchObject({ code: "failed_precondition" })
})
