import { expect, test } from "@playwright/test"
import { real, sql } from "../../../src/client/index.ts"

test("values become parameters", () => {
  const { sql: text, params } = sql`SELECT ${1}, ${"a'b"}, ${null}`
  expect(text).toBe("SELECT ?, ?, ?")
  expect(params).toEqual([1, "a'b", null])
  expect(sql`SELECT 1`).toMatchObject({ sql: "SELECT 1", params: [] })
})

test("names are quoted, and joined by dots", () => {
  expect(sql`SELECT * FROM ${sql.id('we"ird')}`.sql).toBe('SELECT * FROM "we""ird"')
  expect(sql.id("main", "t").sql).toBe('"main"."t"')
  expect(() => sql.id("a\0b")).toThrow(TypeError)
  expect(() => sql.id(5 as never)).toThrow(TypeError)
})

test("lists and statements are inlined with their parameters, in order", () => {
  const where = sql`id IN (${sql.list([1, sql`abs(${2})`, real(3)])})`
  const all = sql`SELECT ${"x"} FROM t WHERE ${where} AND n = ${"y"}`
  expect(all.sql).toBe("SELECT ? FROM t WHERE id IN (?, abs(?), ?) AND n = ?")
  expect(all.params).toEqual(["x", 1, 2, real(3), "y"])
  expect(sql`x IN (${sql.list([])})`).toMatchObject({ sql: "x IN ()", params: [] })
  expect(sql`x IN (${sql.list(new Set([5]))})`).toMatchObject({ sql: "x IN (?)", params: [5] })
})

test("a digit behind a value does not number its placeholder", () => {
  expect(sql`SELECT ${1}2`.sql).toBe("SELECT ? 2")
})

test("an object that only looks like a statement is a value", () => {
  const fake = { sql: "DROP TABLE t", params: [] }
  expect(sql`SELECT ${fake as never}`).toMatchObject({ sql: "SELECT ?", params: [fake] })
})
