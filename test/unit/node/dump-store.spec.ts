import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, test } from "@playwright/test"
import { DumpStore } from "../../../src/node/dump-store.ts"

const path = "/dumps/x.sqlite"
/** More than two slices. */
const content = Buffer.alloc(2_500_000, "content")
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600

let folder: string
test.beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "agentdb-store-"))
})
test.afterEach(() => rmSync(folder, { recursive: true }))

function storeWithDump(): DumpStore {
  const file = join(folder, "1.sqlite")
  writeFileSync(file, content)
  const store = new DumpStore()
  store.add(path, file, inAnHour())
  expect(existsSync(file)).toBe(false)
  return store
}

test("a dump has lost its name and keeps its content, read in slices", async () => {
  const store = storeWithDump()
  const file = store.get(path)
  expect(file?.size).toBe(content.length)
  const slices: Uint8Array[] = []
  for await (const slice of file?.slices() ?? []) slices.push(slice)
  expect(Math.max(...slices.map((slice) => slice.length))).toBeLessThanOrEqual(1024 * 1024)
  expect(Buffer.concat(slices).equals(content)).toBe(true)
  store.clear()
})

test("a download that has begun ends well although the dump expires; one that has not is refused", async () => {
  const store = storeWithDump()
  const file = store.get(path)
  const [begun, late] = [file?.slices(), file?.slices()]
  const first = await begun?.next()
  store.clear()
  expect(store.get(path)).toBeUndefined()
  const rest: Uint8Array[] = []
  for await (const slice of begun ?? []) rest.push(slice)
  expect(Buffer.concat([first?.value as Uint8Array, ...rest]).equals(content)).toBe(true)
  await expect(late?.next()).rejects.toThrow("expired")
})

test("a download that is given up lets the file go", async () => {
  const store = storeWithDump()
  const file = store.get(path)
  const given = file?.slices()
  await given?.next()
  store.clear()
  await given?.return(undefined)
  await expect(file?.slices().next()).rejects.toThrow("expired")
})

test("a file that is not there is an error at once", () => {
  expect(() => new DumpStore().add(path, join(folder, "none.sqlite"), inAnHour())).toThrow("ENOENT")
})
