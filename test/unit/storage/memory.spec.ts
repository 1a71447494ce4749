// In long loops: each of Playwright's expects looks through all of a test's steps.
import assert from "node:assert/strict"
import { expect, test } from "@playwright/test"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import { Random } from "../../fixtures/random.ts"

const id = "DB_abcdefghijkm"

test("a memory file is a file", () => {
  const random = new Random(5)
  const file = new MemoryFile()
  const model = Buffer.alloc(1_000_000)
  let size = 0
  for (let i = 0; i < 2000; i++) {
    const at = random.below(700_000)
    const length = random.pick([0, 1, 100, 65_536, 150_000])
    if (random.chance(0.4)) {
      const bytes = new Uint8Array(length).fill(1 + random.below(255))
      assert.equal(file.write(bytes, { at }), length)
      model.set(bytes, at)
      if (length > 0) size = Math.max(size, at + length)
    } else if (random.chance(0.1)) {
      file.truncate(at)
      if (at < size) model.fill(0, at)
      size = at
    } else {
      const into = new Uint8Array(length)
      const count = file.read(into, { at })
      assert.equal(count, Math.max(0, Math.min(length, size - at)))
      assert.equal(Buffer.compare(into.subarray(0, count), model.subarray(at, at + count)), 0)
    }
    assert.equal(file.getSize(), size)
  }
  expect(Buffer.compare(Buffer.concat(file.parts()), model.subarray(0, size))).toBe(0)
})

test("a memory file with a limit writes short, as a full disk does", () => {
  const file = new MemoryFile(100)
  expect(file.write(new Uint8Array(80), { at: 0 })).toBe(80)
  expect(file.write(new Uint8Array(80), { at: 80 })).toBe(20)
  expect(file.write(new Uint8Array(80), { at: 200 })).toBe(0)
  expect(file.getSize()).toBe(100)
})

test("databases live until they are removed", async () => {
  const storage = new MemoryStorage()
  const files = await storage.create("p", id)
  expect(files.path).toBe(`/p/${id}`)
  files.main.write(Uint8Array.of(7), { at: 0 })
  files.meta.write(Uint8Array.of(1, 2), { at: 0 })
  files.close()
  await expect(storage.create("p", id)).rejects.toMatchObject({ code: "already_exists" })
  expect(await storage.projects()).toEqual(["p"])
  expect(await storage.databases("p")).toEqual([id])
  expect(await storage.databases("other")).toEqual([])
  expect(await storage.readMeta("p", id)).toEqual(Uint8Array.of(1, 2))
  expect(await storage.readMeta("other", id)).toBeUndefined()
  expect((await storage.open("p", id)).main.getSize()).toBe(1)
  await storage.remove("p", id)
  await storage.remove("p", id)
  await expect(storage.open("p", id)).rejects.toMatchObject({ code: "not_found" })
  expect((await storage.create("p", id)).main.getSize()).toBe(0)
})

test("dumps are published as blobs and go with their database", async () => {
  const storage = new MemoryStorage()
  await storage.create("p", id)
  await expect(storage.createDump("p", "DB_mkjihgfedcba", "1")).rejects.toMatchObject({ code: "not_found" })
  const dump = await storage.createDump("p", id, "123-a")
  await expect(storage.createDump("p", id, "123-a")).rejects.toMatchObject({ code: "already_exists" })
  dump.file.write(new TextEncoder().encode("abc"), { at: 0 })
  expect(await (await dump.publish()).text()).toBe("abc")
  expect(await storage.dumps()).toEqual([{ project: "p", id, name: "123-a", unfinished: false }])
  await (await storage.createDump("p", id, "5")).discard()
  await storage.removeDump("p", id, "123-a")
  expect(await storage.dumps()).toEqual([])
})
