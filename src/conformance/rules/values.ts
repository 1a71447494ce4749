import { same } from "../deviation.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { statementOf } from "../statement.ts"

const echo = "SELECT ?1, typeof(?1)"

export const values = new Section("Values and column batches")
  .rule("value.unset", "An unset oneof is `invalid_argument`.", async (stage) => {
    const peer = await stage.connect()
    const statement = { sql: "SELECT ?", params: [{}] }
    for (const kind of ["query", "exec"] as const) {
      refused(await peer.request({ case: kind, value: statement }).answer, "invalid_argument", kind)
    }
    const batch = await peer.request({ case: "batch", value: { statements: [statement] } }).answer
    refused(batch, "invalid_argument", "batch")
  })
  .rule("value.null-flag", "`null_value = false` is NULL all the same.", async (stage) => {
    const peer = await stage.connect()
    for (const value of [true, false]) {
      const params = [{ value: { case: "nullValue", value } as const }]
      const { rows } = succeeded(await peer.request({ case: "query", value: { sql: echo, params } }).answer)
      same(rows, [[null, "null"]], `null_value = ${value}`)
    }
  })
  .rule("value.nan", "NaN binds as NULL.", async (stage) => {
    same(await stage.rows(await stage.connect(), echo, Number.NaN), [[null, "null"]])
  })
  .rule("value.infinity", "Infinity and -0.0 pass.", async (stage) => {
    const peer = await stage.connect()
    for (const value of [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, -0]) {
      same(await stage.rows(peer, echo, value), [[value, "real"]])
    }
  })
  .rule("value.nul", "Text with U+0000 passes whole, both ways.", async (stage) => {
    const peer = await stage.connect()
    for (const text of ["a\u0000b", "\u0000", "a\u0000"]) same(await stage.rows(peer, echo, text), [[text, "text"]])
    same(await stage.rows(peer, "SELECT hex(?)", "a\u0000b"), [["610062"]])
  })
  .rule("value.raw-text", "TEXT in the database that is not valid UTF-8 goes out as its raw bytes.", async (stage) => {
    const peer = await stage.connect()
    succeeded(await peer.query("SELECT CAST(x'61ff62' AS TEXT)"))
    const body = peer.log.find((frame) => frame.body.case === "columnBatch")?.body
    const column = body?.case === "columnBatch" ? body.value.columns[0] : undefined
    same([[...(column?.types ?? [])], [...(column?.textData ?? [])]], [[3], [0x61, 0xff, 0x62]])
  })
  .rule("value.int64", "Every 64-bit integer passes, and none is rounded.", async (stage) => {
    const peer = await stage.connect()
    for (const value of [0n, -1n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)]) {
      same(await stage.rows(peer, echo, value), [[value, "integer"]])
    }
  })
  .rule(
    "column.types",
    "Values are typed per row: walk `types`, one ValueType a row, and take the next entry of the matching array.",
    async (stage) => {
      const peer = await stage.connect()
      await stage.setUp(peer, "CREATE TABLE t(id INTEGER PRIMARY KEY, v)")
      const column = [1n, "a", null, 2.5, new Uint8Array([9]), "b", -3n, new Uint8Array([8, 7]), 1e300, null, "", 4n]
      for (const value of column) succeeded(await peer.exec("INSERT INTO t(v) VALUES(?)", value))
      const rows = await stage.rows(peer, "SELECT v FROM t ORDER BY id")
      same(
        rows,
        column.map((value) => [value]),
      )
    },
  )
  .rule(
    "column.ends",
    "Text and blobs are concatenated; `text_ends` and `blob_ends` are exclusive end offsets, with 0 before the first.",
    async (stage) => {
      const peer = await stage.connect()
      succeeded(await peer.query("SELECT column1, column2 FROM (VALUES('ab', x'01'), ('', x''), ('é', x'0203'))"))
      const body = peer.log.find((frame) => frame.body.case === "columnBatch")?.body
      const [text, blob] = body?.case === "columnBatch" ? body.value.columns : []
      same([...(text?.textData ?? [])], [0x61, 0x62, 0xc3, 0xa9], "text_data")
      same([...(text?.textEnds ?? [])], [2, 2, 4], "text_ends")
      same([...(blob?.blobData ?? [])], [1, 2, 3], "blob_data")
      same([...(blob?.blobEnds ?? [])], [1, 1, 3], "blob_ends")
    },
  )
  .rule("column.null", "A NULL takes a tag only. There is always one tag per row.", async (stage) => {
    const peer = await stage.connect()
    succeeded(await peer.query("SELECT column1, NULL FROM (VALUES(NULL), (5), (NULL))"))
    const body = peer.log.find((frame) => frame.body.case === "columnBatch")?.body
    const [mixed, nulls] = body?.case === "columnBatch" ? body.value.columns : []
    same([[...(mixed?.types ?? [])], mixed?.ints], [[0, 1, 0], [5n]], "a column with NULLs")
    const arrays = [nulls?.ints, nulls?.doubles, nulls?.textEnds, nulls?.blobEnds]
    same(
      [[...(nulls?.types ?? [])], arrays],
      [
        [0, 0, 0],
        [[], [], [], []],
      ],
      "a column of NULLs",
    )
  })
  .rule(
    "column.whole",
    "Bytes and text of any content and length below the limit come back as they went in.",
    async (stage) => {
      const peer = await stage.connect()
      const bytes = new Uint8Array(100_000).map((_, i) => (i * 31 + (i >> 8)) & 255)
      same(await stage.rows(peer, "SELECT ?", bytes), [[bytes]])
      const text = "aé😀\u2028\ufeff\u0000".repeat(5_000)
      const { answer } = peer.request({ case: "query", value: statementOf("SELECT ?, length(?1)", [text]) })
      same(succeeded(await answer).rows[0]?.[0], text)
    },
  ).rules
