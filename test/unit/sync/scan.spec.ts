import { expect, test } from "@playwright/test"
import { readCatalog, type Table } from "../../../src/sync/catalog.ts"
import { scanTable, slices } from "../../../src/sync/scan.ts"
import { connectTo, run } from "../../fixtures/local-connection.ts"
import { TestService } from "../../fixtures/service.ts"

test("a row of more columns than a result may have is read whole, whatever the sizes of its parts", async () => {
  await using service = await TestService.start()
  const { databaseId } = await service.management.create()
  await using db = await connectTo(service, databaseId)
  await run(db, [
    `CREATE TABLE wide(${Array.from({ length: 2000 }, (_, i) => `c${i}`).join(", ")})`,
    `WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
     INSERT INTO wide(rowid, c0, c5, c1999) SELECT -i, i, zeroblob(3000), iif(i % 2, zeroblob(i * 300), i) FROM n`,
  ])
  const { tables, encoding } = await readCatalog(db)
  const seen: unknown[] = []
  let parts = 0
  for await (const rows of scanTable(db, tables[0] as Table, encoding)) {
    parts++
    for (const { rowid, cells } of rows) {
      const last = cells[1999]
      seen.push([rowid, cells.length, cells[0], typeof last === "object" ? last?.length : last])
    }
  }
  const numbers = Array.from({ length: 100 }, (_, index) => 100n - BigInt(index))
  expect(seen).toEqual(numbers.map((i) => [-i, 2000, i, i % 2n ? Number(i) * 300 : i]))
  expect(parts).toBeGreaterThan(1)
})

test("a value too large for its row is found by a key of more columns than an expression is deep", async () => {
  await using service = await TestService.start()
  const { databaseId } = await service.management.create()
  await using db = await connectTo(service, databaseId)
  const names = Array.from({ length: 1500 }, (_, i) => `k${i}`)
  await run(db, [
    `CREATE TABLE keyed(${names.join(", ")}, large, PRIMARY KEY (${names.join(", ")})) WITHOUT ROWID`,
    `INSERT INTO keyed VALUES (${names.map((_, i) => i).join(", ")}, zeroblob(3000000))`,
    `INSERT INTO keyed VALUES (${names.map((_, i) => (i === 1499 ? "'other'" : i)).join(", ")}, randomblob(2500000))`,
  ])
  const { tables, encoding } = await readCatalog(db)
  const table = tables[0] as Table
  const sizes: number[] = []
  for await (const rows of scanTable(db, table, encoding)) {
    for (const row of rows) {
      let size = 0
      for await (const slice of slices(db, table, 1500, row)) size += slice.length
      sizes.push(size)
    }
  }
  expect(sizes).toEqual([3_000_000, 2_500_000])
})
