import { expect, test } from "@playwright/test"
import { MetaFile, parseMeta } from "../../../src/sqlite/meta.ts"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import { attributes, codeOf } from "../../fixtures/engine.ts"
import { Random } from "../../fixtures/random.ts"

const content = (file: MemoryFile): Uint8Array => {
  const bytes = new Uint8Array(file.getSize())
  file.read(bytes, { at: 0 })
  return bytes
}

test("the newest of two records wins, and updates take turns", () => {
  const file = new MemoryFile()
  const meta = MetaFile.create(file, { ...attributes, requestId: "r-é" })
  expect(parseMeta(content(file))).toEqual({
    seq: 0,
    tip: 0,
    salt1: 0,
    salt2: 0,
    mxFrame: 0,
    dirty: false,
    deleted: false,
    attributes: { ...attributes, requestId: "r-é" },
  })
  for (let tip = 1; tip <= 5; tip++) {
    meta.update({ tip, salt1: 0xffff_ffff - tip, salt2: tip, mxFrame: tip * 3, dirty: tip % 2 === 0 })
    expect(parseMeta(content(file))).toMatchObject({ seq: tip, tip, salt1: 0xffff_ffff - tip, dirty: tip % 2 === 0 })
    expect(MetaFile.open(file)?.record).toEqual(meta.record)
  }
})

test("whatever of an update reaches the disk, the old record or the new one is read", () => {
  const random = new Random(3)
  for (let round = 0; round < 300; round++) {
    const file = new MemoryFile()
    const meta = MetaFile.create(file, attributes)
    const updates = 1 + random.below(4)
    for (let i = 1; i <= updates; i++) meta.update({ tip: i * 10, dirty: true })
    const before = content(file)
    meta.update({ tip: 999 })
    const after = content(file)
    const torn = new Uint8Array(after.length)
    torn.set(before)
    for (let at = 0; at < after.length; at += 512) {
      if (random.chance(0.5)) torn.set(after.subarray(at, at + 512), at)
    }
    expect([updates * 10, 999]).toContain(parseMeta(torn)?.tip)
  }
})

test("no byte of a record can change unseen", () => {
  const file = new MemoryFile()
  MetaFile.create(file, attributes)
  const bytes = content(file)
  for (let at = 0; at < 4096; at += 7) {
    const changed = bytes.slice()
    changed[at] = (changed[at] ?? 0) ^ 0x10
    expect([at, parseMeta(changed)]).toEqual([at, undefined])
  }
  expect(parseMeta(new Uint8Array(0))).toBeUndefined()
  expect(parseMeta(bytes.subarray(0, 4095))).toBeUndefined()
})

test("attributes beyond a slot and a disk that is full are errors", () => {
  expect(codeOf(() => MetaFile.create(new MemoryFile(), { ...attributes, region: "é".repeat(2100) }))).toBe(
    "invalid_argument",
  )
  expect(codeOf(() => MetaFile.create(new MemoryFile(100), attributes))).toBe("SQLITE_FULL")
})
