// In long loops: each of Playwright's expects looks through all of a test's steps.
import assert from "node:assert/strict"
import { expect, test } from "@playwright/test"
import { WalBuffer } from "../../../src/sqlite/vfs/wal-buffer.ts"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import { codeOf } from "../../fixtures/engine.ts"
import { Random } from "../../fixtures/random.ts"

test("a buffered file reads as a plain one, whatever is done to it", () => {
  const random = new Random(11)
  for (let round = 0; round < 30; round++) {
    const plain = new MemoryFile()
    const buffered = new WalBuffer(new MemoryFile())
    let end = 0
    for (let i = 0; i < 200; i++) {
      const choice = random.next()
      if (choice < 0.6) {
        const at = random.chance(0.8) ? end : random.below(end + 1)
        const bytes = new Uint8Array(random.pick([24, 4096, 4096, 300_000])).fill(random.below(256))
        plain.write(bytes, { at })
        assert.equal(buffered.write(bytes, { at }), bytes.length)
        end = Math.max(end, at + bytes.length)
      } else if (choice < 0.9) {
        const options = { at: random.below(end + 100) }
        const [a, b] = [new Uint8Array(5000), new Uint8Array(5000)]
        assert.equal(buffered.read(a, options), plain.read(b, options))
        assert.equal(Buffer.compare(a, b), 0)
      } else if (choice < 0.95) buffered.flush()
      else if (random.chance(0.2)) {
        end = random.pick([0, Math.floor(end / 2)])
        plain.truncate(end)
        buffered.truncate(end)
      }
      assert.equal(buffered.getSize(), plain.getSize())
    }
  }
})

test("small writes reach the file as one, when they are flushed", () => {
  const file = new MemoryFile()
  const writes: number[] = []
  const write = file.write.bind(file)
  file.write = (from, options) => {
    writes.push(from.length)
    return write(from, options)
  }
  const buffered = new WalBuffer(file)
  for (let i = 0; i < 10; i++) {
    buffered.write(new Uint8Array(24), { at: i * 4120 })
    buffered.write(new Uint8Array(4096), { at: i * 4120 + 24 })
  }
  expect(writes).toEqual([])
  buffered.flush()
  expect(writes).toEqual([41_200])
})

test("what could not be written is kept until it can be", () => {
  const file = new MemoryFile()
  const buffered = new WalBuffer(file)
  buffered.write(Uint8Array.of(1, 2, 3), { at: 0 })
  const write = file.write.bind(file)
  file.write = () => 1
  expect(codeOf(() => buffered.flush())).toBe("SQLITE_FULL")
  file.write = write
  buffered.flush()
  const into = new Uint8Array(3)
  file.read(into, { at: 0 })
  expect([...into]).toEqual([1, 2, 3])
})
