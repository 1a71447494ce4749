import { setImmediate as settle } from "node:timers/promises"
import { expect, test } from "@playwright/test"
import type { Entry } from "../../../src/server/catalog.ts"
import { type IndexReader, ProjectIndex } from "../../../src/server/project-index.ts"

/** Entries that are read when the test says so. */
class HandReader implements IndexReader {
  readonly reads: { id: string; resolve: () => void; reject: (error: Error) => void }[] = []
  readonly #ids: readonly string[]

  constructor(ids: readonly string[]) {
    this.#ids = ids
  }

  ids = async (): Promise<string[]> => [...this.#ids]

  entry = (id: string): Promise<Entry> =>
    new Promise((resolve, reject) => {
      this.reads.push({ id, resolve: () => resolve({ id } as Entry), reject })
    })
}

test("all of them is all of them, also for one in less of a hurry than another", async () => {
  const reader = new HandReader(["a", "b", "c"])
  const index = new ProjectIndex(reader)
  const seen = { slow: false, fast: false }
  const slow = index.all(1).then(() => {
    seen.slow = true
  })
  await settle()
  const fast = index.all().then(() => {
    seen.fast = true
  })
  await settle()
  expect(reader.reads.map(({ id }) => id).sort()).toEqual(["a", "b", "c"])
  // The one lane that was there first ends first.
  reader.reads[0]?.resolve()
  await settle()
  expect(seen).toEqual({ slow: false, fast: false })
  const late = reader.reads.slice(1)
  const found = Promise.all(late.map(({ id }) => index.find(id)))
  for (const { resolve } of late) resolve()
  expect((await found).map((entry) => entry?.id)).toEqual(late.map(({ id }) => id))
  await Promise.all([slow, fast])
  expect([...(await index.all()).keys()].sort()).toEqual(["a", "b", "c"])
})

test("one that could not be read is not missing: nobody is told of the others as of all, and the next caller reads it", async () => {
  const reader = new HandReader(["a", "b"])
  const index = new ProjectIndex(reader)
  const slow = index.all(1)
  slow.catch(() => {})
  await settle()
  const fast = index.all()
  await settle()
  const [first, second] = reader.reads
  second?.reject(new Error("just now"))
  await expect(fast).rejects.toThrow("just now")
  first?.resolve()
  await expect(slow).rejects.toThrow("just now")
  const again = index.all()
  await settle()
  expect(reader.reads.slice(2).map(({ id }) => id)).toEqual([second?.id])
  reader.reads[2]?.resolve()
  expect([...(await again).keys()].sort()).toEqual(["a", "b"])
})
