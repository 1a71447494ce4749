import { expect, test } from "@playwright/test"
import { connect, sql } from "../../../src/client/index.ts"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { TestService, token } from "../../fixtures/service.ts"
import { failure } from "./fake-peer.ts"

for (const many of [true, false]) test(`smoke many=${many}`, async () => {
  const service = await TestService.start()
  const link = () => { const [a, b] = createLinkPair(); service.service.accept(b); return a }
  const db = await connect({ link: many ? link : link(), databaseId: service.databaseId, token })
  console.log(await db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, a, b)"), db.tip)
  console.log(await db.exec("INSERT INTO t(a,b) VALUES(?,?)", [1.5, "x"]))
  console.log(await db.query("SELECT *, typeof(a) FROM t").all())
  console.log(JSON.stringify(await db.batch(["INSERT INTO t(a) VALUES(2)", sql`SELECT id FROM t WHERE id IN (${sql.list([1, 2, 3])})`, "INSERT INTO t(a) VALUES (3) RETURNING id", "CREATE TABLE u(x)"])))
  console.log(await failure(db.batch(["CREATE TABLE zz(x)", "INSERT INTO nope VALUES(1)"])))
  await db.transaction(async (tx) => {
    await tx.exec("INSERT INTO t(a) VALUES(10)")
    await failure(tx.transaction(async (i) => { await i.exec("INSERT INTO t(a) VALUES(11)"); throw new Error("no") }))
    await tx.transaction(async (i) => { await i.exec("INSERT INTO t(a) VALUES(12)") })
  })
  expect(await db.query("SELECT a FROM t WHERE a >= 10", [], { rowMode: "array" }).all()).toEqual([[10], [12]])
  // C20
  let t0 = Date.now()
  await db.transaction(async (tx) => {
    await tx.exec("INSERT INTO t(a) VALUES(20)")
    console.log((await failure(db.exec("INSERT INTO t(a) VALUES(21)"))).message)
  })
  console.log("c20", Date.now() - t0)
  t0 = Date.now()
  console.log((await failure(db.transaction(async () => { await db.transaction(async () => {}) }))).message, Date.now() - t0)
  await db.exec("INSERT INTO t(a) VALUES(30)")
  // runaway
  t0 = Date.now()
  console.log(await failure(db.query("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT count(*) FROM c", [], { timeoutMs: 200 }).all()).then(e => e.code), Date.now() - t0)
  t0 = Date.now()
  let n = 0, sum = 0
  for await (const [x] of db.query<number[]>("WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c LIMIT 100000) SELECT x FROM c", [], { rowMode: "array" })) { n++; sum += x as number }
  console.log(n, sum, Date.now() - t0)
  t0 = Date.now()
  console.log((await db.query("WITH RECURSIVE c(x) AS (SELECT 0 UNION ALL SELECT x+1 FROM c LIMIT 100000) SELECT x, x*2 AS y, 'abc' AS z FROM c").all()).length, Date.now() - t0)
  t0 = Date.now()
  await Promise.all(Array.from({ length: 1000 }, (_, i) => db.exec("INSERT INTO u VALUES(?)", [i])))
  console.log("1000 pipelined", Date.now() - t0)
  await db.close()
  await service[Symbol.asyncDispose]()
})
