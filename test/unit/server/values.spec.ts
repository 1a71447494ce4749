import { expect, test } from "@playwright/test"
import { OracleClientMessage } from "../../fixtures/oracle.ts"
import { TestService } from "../../fixtures/service.ts"

type Params = { value?: { case: "nullValue"; value: boolean } | { case: "doubleValue"; value: number } }[]
const asked = (params: Params) => ({ sql: "SELECT ?1, typeof(?1)", params })

test("null_value = false is NULL, as NaN is; both infinities pass", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const given = [
    [{ case: "nullValue", value: false }, [null, "null"]],
    [{ case: "nullValue", value: true }, [null, "null"]],
    [{ case: "doubleValue", value: Number.NaN }, [null, "null"]],
    [{ case: "doubleValue", value: Number.NEGATIVE_INFINITY }, [Number.NEGATIVE_INFINITY, "real"]],
    [{ case: "doubleValue", value: Number.POSITIVE_INFINITY }, [Number.POSITIVE_INFINITY, "real"]],
  ] as const
  for (const [value, row] of given) {
    expect((await peer.request({ case: "query", value: asked([{ value }]) }).answer).rows).toEqual([row])
    const batch = await peer.request({ case: "batch", value: { statements: [asked([{ value }])] } }).answer
    expect(batch.rows).toEqual([row])
  }
})

test("a value that is not set, and a language other than SQL, are invalid_argument on every path", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const bad = [asked([{}]), { sql: "SELECT 1", lang: 1 as 0 }, { sql: "SELECT 1", lang: 7 as 0 }]
  for (const statement of bad) {
    for (const inside of [false, true]) {
      if (inside) await peer.begin()
      for (const kind of ["exec", "query"] as const) {
        expect((await peer.request({ case: kind, value: statement }).answer).error?.code).toBe("invalid_argument")
      }
      const statements = [{ sql: "SELECT 1" }, statement]
      const { kinds, error } = await peer.request({ case: "batch", value: { statements } }).answer
      expect([kinds, error?.code, error?.message.slice(0, 13)]).toEqual([
        ["error"],
        "invalid_argument",
        "statement 1: ",
      ])
      if (inside) expect((await peer.rollback()).error).toBeUndefined()
    }
  }
})

test("TEXT that is not valid UTF-8 goes out as its raw bytes", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  await peer.query("SELECT CAST(x'61ff62' AS TEXT)")
  const batch = peer.log.find(({ body }) => body.case === "columnBatch")?.body
  const [column] = batch?.case === "columnBatch" ? batch.value.columns : []
  expect([...(column?.types ?? [])]).toEqual([3])
  expect(Buffer.from(column?.textData ?? []).toString("hex")).toBe("61ff62")
})

test("unknown fields are skipped, and a oneof member of another schema is unimplemented; the socket stays", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  // Fields 15 (a number) and 100 (bytes), around what is known.
  const unknown = [0x78, 1, 0xa2, 0x06, 2, 0xff, 0xff]
  const known = new OracleClientMessage({
    requestId: 60,
    message: { case: "exec", value: { sql: "CREATE TABLE t(x)" } },
  })
  peer.link.send(new Uint8Array([...unknown, ...known.toBinary(), ...unknown]))
  peer.link.send(new Uint8Array([0x08, 61, ...unknown]))
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
  expect(peer.kinds(60)).toEqual(["execResult"])
  expect(peer.log.find(({ id }) => id === 61)?.body).toMatchObject({ case: "error", value: { code: "unimplemented" } })
})

test("the largest request_id is as good as any", async () => {
  await using at = await TestService.start()
  const peer = await at.connect()
  const { answer } = peer.request({ case: "query", value: { sql: "SELECT 5" } }, {}, 0xffff_ffff)
  expect((await answer).rows).toEqual([[5n]])
})
