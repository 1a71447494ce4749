import { expect, test } from "@playwright/test"
import { databasePath, decodeSegment, encodeSegment, isDatabaseId } from "../../../src/storage/paths.ts"
import { codeOf } from "../../fixtures/engine.ts"

const names = [
  "devkey",
  "",
  ".",
  "..",
  "../x",
  "a/b",
  "a\\b",
  "A",
  "a",
  "nul\u0000l",
  "日本語",
  "\u{1F600}",
  "\u00e9",
  "e\u0301",
  "x-journal",
  "__proto__",
  "?vfs=memdb",
  "%2e%2e%2f",
  "_",
  "_41",
  "con",
]

test("every name has a segment of its own, from which it comes back", () => {
  const segments = names.map(encodeSegment)
  expect(new Set(segments.map((segment) => segment.toLowerCase().normalize("NFC"))).size).toBe(names.length)
  for (const [i, segment] of segments.entries()) {
    expect(segment).toMatch(/^[a-z0-9_-]+$/)
    expect(decodeSegment(segment)).toBe(names[i])
  }
})

test("what was never encoded is not decoded, and what is too long is refused", () => {
  for (const segment of ["", ".scratch", "A", "_zz", "_4", "a b", "_61", "_ff"])
    expect(decodeSegment(segment)).toBeUndefined()
  expect(codeOf(() => encodeSegment("é".repeat(100)))).toBe("invalid_argument")
})

test("an id that was not made here never becomes a path", () => {
  expect(isDatabaseId("DB_abcdefghijkm")).toBe(true)
  expect(databasePath("devkey", "DB_abcdefghijkm")).toBe("/devkey/DB_abcdefghijkm")
  for (const id of ["", "DB_", "DB_abcdefghijkl", "DB_abcdefghijkm0", "DB_../../../ab", "db_abcdefghijkm", ...names]) {
    expect([id, codeOf(() => databasePath("devkey", id))]).toEqual([id, "not_found"])
  }
})
