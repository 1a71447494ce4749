import { holds, same } from "../deviation.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { endless } from "../sql.ts"
import { closes, fails, pause, type Stage, settle } from "../stage.ts"

const seconds = () => Math.floor(Date.now() / 1000)

/** All ids of the project, page by page, and each page's length. */
async function listAll(stage: Stage, pageSize: number) {
  const ids: string[] = []
  const sizes: number[] = []
  let pageToken = ""
  do {
    const page = await stage.target.management.listDatabases({ pageSize, pageToken })
    ids.push(...page.databases.map(({ databaseId }) => databaseId))
    sizes.push(page.databases.length)
    pageToken = page.nextPageToken
  } while (pageToken !== "")
  return { ids, sizes }
}

const badIds = ["DB_222222222222", "../x", "a/b", ".", "nul\u0000l", "😀", "__proto__", "?vfs=memdb", "%2e%2e%2f"]

export const databases = new Section("Management plane")
  .rule(
    "create.id",
    "CreateDatabase: the id is `DB_` and 12 characters of the base-57 shortuuid alphabet.",
    async (stage) => {
      const ids = [await stage.create(), await stage.create()]
      for (const id of ids) holds(/^DB_[23456789A-HJ-NP-Za-km-z]{12}$/.test(id), "DB_ and 12 characters", id)
      holds(ids[0] !== ids[1], "two ids", ids)
    },
  )
  .rule("create.region", "The region is as given, else `local`.", async (stage) => {
    const { management } = stage.target
    same((await management.getDatabase(await stage.create({ region: "eu-9" }))).region, "eu-9")
    same((await management.getDatabase(await stage.create())).region, "local")
  })
  .rule("create.times", "Times are Unix seconds.", async (stage) => {
    const before = seconds()
    const { createdAt, expiresAt } = await stage.target.management.getDatabase(await stage.create({ ttlSeconds: 600 }))
    holds(Math.abs(createdAt - before) <= 60, `about ${before}`, createdAt, "created_at")
    holds(expiresAt - createdAt >= 599 && expiresAt - createdAt <= 601, "600 s later", expiresAt - createdAt)
  })
  .rule("create.forever", "`ttl_seconds` 0 or unset never expires (`expires_at` 0).", async (stage) => {
    const { management } = stage.target
    for (const o of [{}, { ttlSeconds: 0 }]) {
      same((await management.getDatabase(await stage.create(o))).expiresAt, 0)
    }
  })
  .rule("create.cap", "Otherwise it is clamped to the cap, 10 years.", async (stage) => {
    const id = await stage.create({ ttlSeconds: 2n ** 62n })
    const { createdAt, expiresAt } = await stage.target.management.getDatabase(id)
    const { ttlCapSeconds } = stage.limits
    holds(Math.abs(expiresAt - createdAt - ttlCapSeconds) <= 1, `${ttlCapSeconds} s`, expiresAt - createdAt)
  })
  .rule("create.negative", "A negative one is `invalid_argument`.", async (stage) => {
    for (const ttlSeconds of [-1, -1n]) await fails(stage.create({ ttlSeconds }), "invalid_argument")
  })
  .rule("get.tip", "GetDatabase and ListDatabases tell the tip.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x)", "INSERT INTO t VALUES(1)")
    const id = await stage.database()
    same((await stage.target.management.getDatabase(id)).tip, 2)
    const { databases } = await stage.target.management.listDatabases({ pageSize: 1_000 })
    holds(
      databases.length === 1_000 || databases.find(({ databaseId }) => databaseId === id)?.tip === 2,
      "tip 2",
      databases,
    )
  })
  .rule("list.pages", "Each database is on one page, whatever `page_size`; the newest come last.", async (stage) => {
    const made = [await stage.create(), await stage.create(), await stage.create()]
    const { ids, sizes } = await listAll(stage, 2)
    same(
      ids.filter((id) => made.includes(id)),
      made,
      "in the order of their creation",
    )
    same(new Set(ids).size, ids.length, "none twice")
    holds(
      sizes.every((size) => size <= 2),
      "pages of at most 2",
      sizes,
    )
  })
  .rule("list.size", "`page_size` is clamped to 1..1000; 0 means the default, 100.", async (stage) => {
    const { management } = stage.target
    await stage.create()
    const { databases } = await management.listDatabases({ pageSize: 0 })
    holds(databases.length >= 1 && databases.length <= 100, "1 to 100", databases.length)
    const large = await management.listDatabases({ pageSize: 2 ** 31 - 1 })
    holds(large.databases.length >= 1 && large.databases.length <= 1_000, "1 to 1,000", large.databases.length)
  })
  .rule("list.negative", "A negative one is `invalid_argument`.", (stage) =>
    fails(stage.target.management.listDatabases({ pageSize: -1 }), "invalid_argument"),
  )
  .rule("list.token", "Tokens are opaque; a bad token is `invalid_argument`.", async (stage) => {
    for (const pageToken of ["made up", "YWZ0ZXI6eA", "1"]) {
      await fails(stage.target.management.listDatabases({ pageToken }), "invalid_argument", pageToken)
    }
  })
  .rule("list.deletions", "Deletions between pages never repeat or skip a surviving id.", async (stage) => {
    const { management } = stage.target
    const made: string[] = []
    for (let i = 0; i < 6; i++) made.push(await stage.create())
    const seen: string[] = []
    let pageToken = ""
    do {
      const page = await management.listDatabases({ pageSize: 2, pageToken })
      const ids = page.databases.map(({ databaseId }) => databaseId)
      seen.push(...ids)
      pageToken = page.nextPageToken
      // The last one that was shown, where the next page begins.
      const last = ids.at(-1)
      if (last !== undefined && made.includes(last)) await management.deleteDatabase(last)
    } while (pageToken !== "")
    same(
      seen.filter((id) => made.includes(id)),
      made,
    )
  })
  .rule("delete.gone", "DeleteDatabase removes the database.", async (stage) => {
    const { management } = stage.target
    const id = await stage.create()
    await management.deleteDatabase(id)
    await fails(management.getDatabase(id), "not_found", "GetDatabase")
    await fails(management.dumpDatabase(id), "not_found", "DumpDatabase")
    const peer = await stage.socket()
    refused(await peer.hello(await stage.token(), id), "not_found", "Hello")
    holds(!(await listAll(stage, 1_000)).ids.includes(id), "a list without it", id)
  })
  .rule(
    "delete.sockets",
    "Open sockets on it end with an Error `not_found` on each live request, then close 1008.",
    async (stage) => {
      const [peer, holder] = await stage.two()
      const idle = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x)")
      succeeded(await holder.begin())
      const live = [peer.stream(endless), peer.request({ case: "exec", value: { sql: "INSERT INTO t VALUES(1)" } })]
      await settle(peer)
      await stage.target.management.deleteDatabase(await stage.database())
      for (const { answer } of live) refused(await answer, "not_found")
      for (const one of [peer, holder, idle]) await closes(one, 1008)
    },
  )
  .rule("delete.unknown", "Deleting an unknown id is `not_found`.", (stage) =>
    fails(stage.target.management.deleteDatabase("DB_222222222222"), "not_found"),
  )
  .rule(
    "expiry.gone",
    "An expired database is gone in the same way, at its time and not at the next call.",
    async (stage) => {
      const { management } = stage.target
      const id = await stage.create({ ttlSeconds: 2 })
      const peer = await stage.connect(id)
      await stage.setUp(peer, "CREATE TABLE t(x)")
      let isGone = false
      void peer.closed.then(() => {
        isGone = true
      })
      // Using it does not extend its life.
      while (!isGone) {
        await Promise.race([peer.exec("INSERT INTO t VALUES(1)"), peer.closed])
        await pause(50)
      }
      await closes(peer, 1008)
      await fails(management.getDatabase(id), "not_found")
    },
  )
  .rule(
    "ids.any",
    "Ids that come in are any string of up to 128 characters; one that was not made here is `not_found`.",
    async (stage) => {
      const { management } = stage.target
      for (const id of [...badIds, "x".repeat(128)]) {
        await fails(management.getDatabase(id), "not_found", id)
        await fails(management.deleteDatabase(id), "not_found", id)
        await fails(management.dumpDatabase(id), "not_found", id)
        const peer = await stage.socket()
        refused(await peer.hello(await stage.token(), id), "not_found", id)
      }
    },
  )
  .rule("ids.bad", "An empty or longer one is `invalid_argument`.", async (stage) => {
    for (const id of ["", "x".repeat(129)]) {
      await fails(stage.target.management.getDatabase(id), "invalid_argument", id)
      const peer = await stage.socket()
      refused(await peer.hello(await stage.token(), id), "invalid_argument", id)
    }
  })
  .rule("dump.file", "DumpDatabase gives a consistent SQLite file at `tip`.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x)", "INSERT INTO t VALUES('to be found in the file')")
    const { downloadUrl, tip } = await stage.target.management.dumpDatabase(await stage.database())
    same(tip, 2)
    const file = await stage.target.download(downloadUrl)
    const text = new TextDecoder("latin1").decode(file)
    same(text.slice(0, 15), "SQLite format 3", "its first bytes")
    holds(text.includes("CREATE TABLE t(x)") && text.includes("to be found in the file"), "schema and row", file.length)
    const view = new DataView(file.buffer, file.byteOffset)
    const pageSize = view.getUint16(16) === 1 ? 65_536 : view.getUint16(16)
    same(file.length, view.getUint32(28) * pageSize, "its length, by the page count of its header")
  })
  .rule("dump.journal", "The file opens in any SQLite: it is not in WAL mode.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x)")
    const { downloadUrl } = await stage.target.management.dumpDatabase(await stage.database())
    const file = await stage.target.download(downloadUrl)
    same([file[18], file[19]], [1, 1], "the read and write versions of its header")
  })
  .rule("dump.expiry", "It can be had until `expires_at`, 15 min by default.", async (stage) => {
    const before = seconds()
    const { expiresAt } = await stage.target.management.dumpDatabase(await stage.database())
    const { dumpUrlSeconds } = stage.limits
    holds(Math.abs(expiresAt - before - dumpUrlSeconds) <= 30, `in ${dumpUrlSeconds} s`, expiresAt - before)
  })
  .rule("dump.writers", "Writers go on meanwhile.", async (stage) => {
    const peer = await stage.connect()
    await stage.setUp(peer, "CREATE TABLE t(x)", "INSERT INTO t VALUES(zeroblob(2000000))")
    const dump = stage.target.management.dumpDatabase(await stage.database())
    for (let i = 0; i < 10; i++) await stage.setUp(peer, "INSERT INTO t VALUES(1)")
    const { tip, downloadUrl } = await dump
    holds(tip >= 2 && tip <= 12, "a tip from 2 to 12", tip)
    holds((await stage.target.download(downloadUrl)).length > 2_000_000, "the whole file", downloadUrl)
  }).rules

export const tip = new Section("Tip")
  .rule("tip.zero", "`tip` is 0 for a database with no commit.", async (stage) => {
    const id = await stage.create()
    same((await stage.target.management.getDatabase(id)).tip, 0)
    const peer = await stage.socket()
    same(succeeded(await peer.hello(await stage.token(), id)).helloOk?.tip, 0n)
    same(succeeded(await peer.query("SELECT 1")).done?.tip, 0n)
  })
  .rule(
    "tip.changes",
    "+1 for each transaction that changed the file: DDL, VACUUM and `PRAGMA user_version` do.",
    async (stage) => {
      const peer = await stage.connect()
      let expected = 0n
      for (const sql of [
        "CREATE TABLE t(x)",
        "INSERT INTO t VALUES(1), (2)",
        "CREATE INDEX i ON t(x)",
        "VACUUM",
        "PRAGMA user_version = 5",
        "PRAGMA user_version = 5",
        "DROP INDEX i",
      ]) {
        expected++
        same(succeeded(await peer.exec(sql), sql).execs[0]?.tip, expected, sql)
      }
      same(succeeded(await peer.batch("DELETE FROM t", "INSERT INTO t VALUES(1)")).done?.tip, expected + 1n, "a batch")
    },
  )
  .rule(
    "tip.no-changes",
    "`UPDATE ... WHERE 0`, an ignored insert, an empty transaction, a rollback, and `CREATE TABLE IF NOT EXISTS` of one that exists do not.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(x UNIQUE)", "INSERT INTO t VALUES(1)")
      for (const sql of [
        "UPDATE t SET x = 2 WHERE 0",
        "INSERT OR IGNORE INTO t VALUES(1)",
        "CREATE TABLE IF NOT EXISTS t(x)",
        "SELECT 1",
      ]) {
        same(succeeded(await peer.exec(sql), sql).execs[0]?.tip, 2n, sql)
      }
      for (const isWritten of [false, true]) {
        succeeded(await peer.begin())
        if (isWritten) await stage.setUp(peer, "INSERT INTO t VALUES(2)")
        const end = isWritten ? await peer.rollback() : await peer.commit()
        same(succeeded(end).execs[0]?.tip, 2n, isWritten ? "a rollback" : "an empty transaction")
      }
    },
  )
  .rule("tip.same-for-all", "It is the same for every socket and on both planes.", async (stage) => {
    const [a, b] = await stage.two()
    await stage.setUp(a, "CREATE TABLE t(x)")
    for (let i = 2; i < 6; i++) {
      await stage.setUp(i % 2 ? a : b, "INSERT INTO t VALUES(1)")
      same(succeeded(await a.query("SELECT 1")).done?.tip, BigInt(i))
      same((await stage.target.management.getDatabase(await stage.database())).tip, i)
    }
  })
  .rule("tip.no-trace", "The tip leaves no trace in `sqlite_schema`, in `page_count` or in a dump.", async (stage) => {
    const peer = await stage.connect()
    same(await stage.rows(peer, "SELECT count(*) FROM sqlite_schema"), [[0n]])
    await stage.setUp(peer, "CREATE TABLE t(x)", "DROP TABLE t")
    same(await stage.rows(peer, "SELECT count(*) FROM sqlite_schema"), [[0n]])
    same(await stage.rows(peer, "SELECT count(*) FROM pragma_table_list WHERE name NOT LIKE 'sqlite_%'"), [[0n]])
  }).rules
