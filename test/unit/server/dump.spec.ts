import { expect, test } from "@playwright/test"
import { downloads } from "../../fixtures/restored.ts"
import { TestService } from "../../fixtures/service.ts"
import { askBytes, hasSqlite3, noSqlite3 } from "../../fixtures/sqlite3-cli.ts"

test("a dump is a plain SQLite file at its tip, with the user's objects only; writers go on meanwhile", async () => {
  test.skip(!hasSqlite3, noSqlite3)
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, at_tip INTEGER, filler)")
  let running = true
  let tip = 1n
  const writer = (async () => {
    while (running) {
      const { execs } = await peer.exec("INSERT INTO t(at_tip, filler) VALUES(?, randomblob(40000))", tip + 1n)
      tip = execs[0]?.tip as bigint
    }
  })()
  while (tip < 500n) await new Promise((resolve) => setTimeout(resolve, 5))
  const { files, publish } = downloads()
  const started = tip
  const dump = await at.management.dump(at.databaseId, publish)
  const ended = tip
  running = false
  await writer
  expect(ended).toBeGreaterThan(started)
  const file = new Uint8Array(await (files.get(dump.downloadUrl) as Blob).arrayBuffer())
  expect([file[18], file[19]]).toEqual([1, 1])
  expect(askBytes(file, "PRAGMA integrity_check")).toBe("ok")
  expect(askBytes(file, "PRAGMA journal_mode")).toBe("delete")
  expect(askBytes(file, "SELECT group_concat(name) FROM sqlite_schema")).toBe("t")
  // Every row up to the tip, and none after it.
  expect(askBytes(file, "SELECT count(*) || ' ' || max(at_tip) FROM t")).toBe(`${dump.tip - 1} ${dump.tip}`)
})

test("the URL's file is erased at its time, and what an earlier run left is swept at start", async () => {
  await using at = await TestService.start({ dumpUrlSeconds: 1 })
  const { publish } = downloads()
  const { expiresAt } = await at.management.dump(at.databaseId, publish)
  expect(expiresAt - Date.now() / 1000).toBeLessThanOrEqual(1)
  expect((await at.storage.dumps()).length).toBe(1)
  await expect.poll(async () => (await at.storage.dumps()).length).toBe(0)

  const stale = await at.storage.createDump("devkey", at.databaseId, "dump-1000-1-x.sqlite")
  await stale.publish()
  const fresh = await at.storage.createDump(
    "devkey",
    at.databaseId,
    `dump-${Math.floor(Date.now() / 1000) + 900}-2-x.sqlite`,
  )
  await fresh.publish()
  // A crash in the middle of a dump: nobody has a URL of it.
  await at.storage.createDump("devkey", at.databaseId, `dump-${Math.floor(Date.now() / 1000) + 900}-3-x.sqlite`)
  await at.service.close()
  await using again = await TestService.start({}, { storage: at.storage })
  await expect
    .poll(async () => (await again.storage.dumps()).map(({ name }) => name.slice(-11)))
    .toEqual(["-2-x.sqlite"])
})

test("several dumps at once, and one of a database that is deleted meanwhile is not_found and leaves nothing", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.exec("CREATE TABLE t(x)")
  await peer.exec(
    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 3000) INSERT INTO t SELECT randomblob(4000) FROM c",
  )
  const { files, publish } = downloads()
  const dumps = await Promise.all([1, 2, 3].map(() => at.management.dump(at.databaseId, publish)))
  expect(new Set(dumps.map((dump) => dump.downloadUrl)).size).toBe(3)
  const sizes = [...files.values()].map((file) => file.size)
  expect(new Set(sizes).size).toBe(1)
  const doomed = at.management.dump(at.databaseId, publish)
  doomed.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, 2))
  await at.management.delete(at.databaseId)
  await expect(doomed).rejects.toMatchObject({ code: "not_found" })
  expect(await at.storage.dumps()).toEqual([])
})
