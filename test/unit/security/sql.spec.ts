import { expect, test } from "@playwright/test"
import { TestService, token } from "../../fixtures/service.ts"
import { settle, type WirePeer } from "../../fixtures/wire-peer.ts"

const secret = "hush-4711"
const keys = { devkey: "secret", other: "secret2" }

/** Three databases of which two hold the secret: another one of the same project, and one of another project. */
async function start() {
  const at = await TestService.start({}, { keys })
  const { databaseId: second } = await at.management.create()
  const { databaseId: foreign } = await at.service.management("other").create()
  const hide = async (peer: WirePeer) => {
    const { error } = await peer.batch(`CREATE TABLE "${secret}"(x)`, [`INSERT INTO "${secret}" VALUES(?)`, secret])
    expect(error).toBeUndefined()
    return peer
  }
  const neighbour = await hide(await at.connect(second))
  const stranger = at.socket()
  expect((await stranger.hello(token("other", "secret2"), foreign)).error).toBeUndefined()
  await hide(stranger)
  const peer = await at.connect()
  await peer.batch(
    "CREATE TABLE t(x)",
    "INSERT INTO t VALUES(1), (2)",
    "CREATE VIRTUAL TABLE f USING fts5(x)",
    "INSERT INTO f VALUES('some words')",
    "CREATE VIRTUAL TABLE r USING rtree(id, a, b)",
  )
  return { at, peer, neighbour, second, foreign, [Symbol.asyncDispose]: () => at[Symbol.asyncDispose]() }
}

/** What somebody tries who wants out of a database. */
const ways = (second: string): string[] => [
  ...[
    "ATTACH 'data.sqlite' AS x",
    `ATTACH '${second}' AS x`,
    `ATTACH 'file:../${second}/data.sqlite?vfs=agentdb' AS x`,
  ],
  ...[
    "ATTACH '' AS x",
    "DETACH main",
    "DETACH temp",
    "VACUUM INTO 'x'",
    `VACUUM INTO '${second}'`,
    "VACUUM temp INTO 'x'",
  ],
  ...["SELECT * FROM sqlite_dbpage", "SELECT * FROM sqlite_dbpage('temp')", "SELECT * FROM sqlite_dbdata"],
  ...["SELECT * FROM sqlite_dbptr", "SELECT * FROM dbstat('x')", "SELECT * FROM dbstat"],
  ...["PRAGMA writable_schema=1", "PRAGMA writable_schema=RESET", "UPDATE sqlite_schema SET sql = ''"],
  ...["INSERT INTO sqlite_schema VALUES('table','z','z',2,'CREATE TABLE z(x)')", "DELETE FROM sqlite_schema"],
  ...["PRAGMA database_list", "SELECT * FROM pragma_database_list", "SELECT * FROM pragma_module_list"],
  ...["PRAGMA temp_store_directory='/'", "PRAGMA data_store_directory='/'", "PRAGMA trusted_schema=1"],
  ...["PRAGMA journal_mode=OFF", "PRAGMA locking_mode=EXCLUSIVE", "PRAGMA mmap_size=1", "PRAGMA wal_checkpoint"],
  ...["CREATE TEMP TABLE x(a)", "CREATE TABLE temp.x(a)", "CREATE TEMP VIEW x AS SELECT 1"],
  ...["CREATE VIRTUAL TABLE temp.x USING fts5vocab('main', 'f', 'row')", "SELECT * FROM temp.sqlite_schema"],
  ...[
    "UPDATE f_data SET block = x''",
    "INSERT INTO f_data VALUES(99, x'')",
    "DROP TABLE f_data",
    "DELETE FROM f_config",
  ],
  ...[
    "DELETE FROM r_node",
    "UPDATE r_rowid SET nodeno = 9",
    "ALTER TABLE f_data RENAME TO g",
    "CREATE INDEX i ON r_node(data)",
  ],
  ...["SELECT load_extension('x')", "SELECT readfile('/etc/passwd')", "SELECT writefile('x', 'y')", "SELECT edit('x')"],
  ...["SELECT fts3_tokenizer('simple')", "SELECT fts3_tokenizer('simple', x'00')", "SELECT * FROM fsdir('/')"],
  ...["CREATE VIRTUAL TABLE x USING csv(filename='/etc/passwd')", "CREATE VIRTUAL TABLE x USING zipfile('x')"],
  ...[
    "CREATE VIRTUAL TABLE x USING sqlite_stmt",
    "CREATE VIRTUAL TABLE x USING sqlite_dbpage",
    "SELECT * FROM sqlite_stmt",
  ],
  ...[`SELECT * FROM bytecode('SELECT * FROM "${secret}"')`, `SELECT * FROM tables_used('ATTACH ''x'' AS y')`],
  ...["SELECT * FROM bytecode('SELECT * FROM sqlite_dbpage')", "CREATE VIEW x AS SELECT * FROM sqlite_dbpage"],
  ...[
    "CREATE VIRTUAL TABLE x USING fts5(a, content='sqlite_dbpage')",
    "CREATE VIRTUAL TABLE y USING fts5vocab('f', 'instance')",
  ],
  ...["CREATE VIRTUAL TABLE z USING fts5(data, content='sqlite_dbpage', content_rowid='pgno')", "SELECT * FROM z"],
  ...["SELECT rtreecheck('main', 'sqlite_schema')", "SELECT sqlite_rename_test('main','x','y','z',0,0,0)"],
  ...[
    "CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO sqlite_dbpage VALUES(1, x''); END",
    "INSERT INTO t VALUES(3)",
  ],
]

/** Those that must not even be tried. */
const denied =
  /^(ATTACH|DETACH|VACUUM.* INTO|PRAGMA|CREATE TEMP|CREATE TABLE temp|.* temp\.x |SELECT .* sqlite_dbpage|SELECT .* pragma_)/

test("no way out of a database reaches another one's secret, alone, in a batch or in a transaction", async () => {
  await using service = await start()
  const { at, peer, second, foreign } = service
  const seen: string[] = []
  const note = (sql: string, answer: Awaited<ReturnType<WirePeer["exec"]>>) => {
    const shown = JSON.stringify(answer.rows, (_, value: unknown) => {
      if (typeof value === "bigint") return String(value)
      return value instanceof Uint8Array ? Buffer.from(value).toString("latin1") : value
    })
    // What the statement itself says comes back in its error.
    seen.push(`${shown} ${answer.error?.message ?? ""}`.replaceAll(sql, ""))
    if (denied.test(sql) && !sql.startsWith("SELECT * FROM bytecode")) {
      expect(answer.error?.code, sql).toBe("permission_denied")
    }
  }
  for (const sql of ways(second)) {
    note(sql, await peer.exec(sql))
    note(sql, await peer.query(sql))
    note(sql, await peer.batch(sql))
    await peer.begin()
    note(sql, await peer.query(sql))
    await peer.rollback()
  }
  const text = seen.join("\n").replaceAll(/no such (table|database): \S+/g, "")
  for (const hidden of [secret, foreign, token()]) expect(text.includes(hidden), hidden).toBe(false)
  expect((await peer.query("PRAGMA integrity_check")).rows).toEqual([["ok"]])
  const neighbour = await at.connect(second)
  expect((await neighbour.query(`SELECT x FROM "${secret}"`)).rows).toEqual([[secret]])
})

test("sqlite_stmt tells no socket what another one asks, nor with which values", async () => {
  await using service = await start()
  const { at, peer } = service
  const [reader, writer] = [await at.connect(), await at.connect()]
  const many = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 100000)"
  reader.request({ case: "query", value: { sql: `${many} SELECT x, '${secret}' FROM c` } }, { credits: [] })
  await settle(reader)
  await writer.begin()
  writer.request({ case: "query", value: { sql: `${many} SELECT x, '${secret}' FROM c` } }, { credits: [] })
  await settle(writer)
  const { rows } = await peer.query("SELECT sql FROM sqlite_stmt")
  expect(rows).toEqual([["SELECT sql FROM sqlite_stmt"]])
  await writer.commit()
  for (const sql of ["SELECT sql FROM sqlite_stmt", "INSERT INTO t SELECT sql FROM sqlite_stmt RETURNING x"]) {
    expect(JSON.stringify((await peer.query(sql)).rows)).not.toContain(secret)
  }
})

test("errors name neither other databases nor tokens", async () => {
  await using service = await start()
  const { at, peer, second, foreign } = service
  const mine = token()
  const said: string[] = []
  for (const [given, id] of [
    [mine, foreign],
    [mine, "DB_nobodyknows"],
    [`${mine}x`, at.databaseId],
    [token("other", "secret2"), at.databaseId],
    [token("devkey", "wrong"), at.databaseId],
    ["", at.databaseId],
  ] as const) {
    const socket = at.socket()
    const { error } = await socket.hello(given, id)
    const { reason } = await socket.closed
    said.push(`${error?.code} ${error?.message} ${reason}`)
  }
  expect(said.map((line) => line.split(" ")[0])).toEqual([
    ...["not_found", "not_found", "unauthenticated", "not_found", "unauthenticated", "unauthenticated"],
  ])
  for (const sql of ["SELEC", "SELECT * FROM nope", "ATTACH 'x' AS y", "SELECT load_extension('x')", "COMMIT"]) {
    said.push((await peer.query(sql)).error?.message ?? "")
  }
  const all = said.join("\n")
  for (const hidden of [second, mine, mine.split(".")[1], secret, "secret2"]) expect(all).not.toContain(hidden)
  // A wrong guess learns no more than one at an id that nobody has.
  expect(said[0]?.replace(foreign, "")).toBe(said[1]?.replace("DB_nobodyknows", ""))
})
