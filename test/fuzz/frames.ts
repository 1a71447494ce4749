import fc from "fast-check"
import type { SignalNotice } from "../../src/link/link.ts"
import { OracleClientMessage } from "../fixtures/oracle.ts"

type Body = NonNullable<NonNullable<ConstructorParameters<typeof OracleClientMessage>[0]>["message"]>

/** What a peer does that knows the protocol badly, or too well. */
export type Event =
  | { readonly do: "send"; readonly bytes: Uint8Array }
  | {
      readonly do: "hello"
      readonly id: number
      readonly token: "good" | "bad" | ""
      readonly database: "real" | string
    }
  | { readonly do: "signal"; readonly notice: SignalNotice }
  | { readonly do: "wait" }
  | { readonly do: "close" }

const ids = fc.constantFrom(0, 1, 1, 1, 2, 2, 300, 0xffff_ffff)

const sql = fc.oneof(
  fc.constantFrom(
    "CREATE TABLE IF NOT EXISTS t(k INTEGER PRIMARY KEY, v)",
    "INSERT INTO t(v) VALUES(?)",
    "INSERT OR FAIL INTO t(k, v) VALUES(7, ?), (7, 1)",
    "INSERT INTO t(v) VALUES(?), (2), (3) RETURNING k, v",
    "SELECT k, v FROM t",
    "SELECT ?, ?1, :a",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 40) SELECT x, randomblob(x) FROM c",
    "DELETE FROM t WHERE k % 2 = 0",
    "SAVEPOINT s",
    "ROLLBACK TO s",
    "RELEASE s",
    "COMMIT",
    "PRAGMA user_version = 3",
    "VACUUM",
    "ATTACH 'x' AS y",
    "SELECT 1; SELECT 2",
    "",
  ),
  fc.string({ maxLength: 30 }),
)

const value = fc.oneof(
  fc.boolean().map((value) => ({ case: "nullValue", value }) as const),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => ({ case: "intValue", value }) as const),
  fc.double().map((value) => ({ case: "doubleValue", value }) as const),
  fc.string({ maxLength: 40, unit: "binary" }).map((value) => ({ case: "textValue", value }) as const),
  fc.uint8Array({ maxLength: 200 }).map((value) => ({ case: "blobValue", value: new Uint8Array(value) }) as const),
  fc.constant({ case: undefined } as const),
)

const statement = fc.record({
  sql,
  params: fc.array(
    value.map((value) => ({ value })),
    { maxLength: 3 },
  ),
  lang: fc.oneof({ weight: 20, arbitrary: fc.constant(0) }, fc.constantFrom(1, 7, 0x7fff_ffff)),
})

const body: fc.Arbitrary<Body> = fc.oneof(
  { weight: 4, arbitrary: statement.map((value) => ({ case: "exec", value }) as Body) },
  { weight: 4, arbitrary: statement.map((value) => ({ case: "query", value }) as Body) },
  {
    weight: 2,
    arbitrary: fc
      .array(statement, { maxLength: 4 })
      .map((statements) => ({ case: "batch", value: { statements } }) as Body),
  },
  fc.constantFrom<Body>(
    { case: "begin", value: {} },
    { case: "commit", value: {} },
    { case: "rollback", value: {} },
    { case: "cancel", value: {} },
  ),
  fc
    .oneof(fc.constantFrom(0, 1, 2, 0xffff_ffff), fc.nat())
    .map((batches) => ({ case: "credit", value: { batches } }) as Body),
  fc
    .bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
    .map((timestampMs) => ({ case: "ping", value: { timestampMs } }) as Body),
)

const frame = fc
  .tuple(ids, body)
  .map(([requestId, message]) => new Uint8Array(new OracleClientMessage({ requestId, message }).toBinary()))

/** A field of no known number, of every wire type. */
const unknownField = fc.constantFrom<number[][]>(
  [0xf8, 0x07, 0xff, 0x01],
  [0xf9, 0x07, 1, 2, 3, 4, 5, 6, 7, 8],
  [0xfa, 0x07, 3, 1, 2, 3],
  [0xfb, 0x07, 0x08, 0x01, 0xfc, 0x07],
  [0xfd, 0x07, 1, 2, 3, 4],
)

/** Lengths, tags and varints that promise what is not there. */
const poison = fc.constantFrom<number[][]>(
  [0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f],
  [0x1a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  [0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
  [0x00],
  [0x07],
  [0xfc, 0x07],
  [0x2a, 0x02, 0x0a, 0x7f],
  [0x1a, 0x03, 0x0a, 0x01, 0xff],
)

type Mutation = (bytes: Uint8Array) => Uint8Array

const joined = (...parts: (Uint8Array | number[])[]) => new Uint8Array(parts.flatMap((part) => [...part]))

const mutation: fc.Arbitrary<Mutation> = fc.oneof(
  fc.array(fc.nat(), { minLength: 1, maxLength: 3 }).map(
    (bits): Mutation =>
      (bytes) => {
        const flipped = bytes.slice()
        if (flipped.length > 0) {
          for (const bit of bits) {
            const at = (bit >> 3) % flipped.length
            flipped[at] = (flipped[at] as number) ^ (1 << (bit & 7))
          }
        }
        return flipped
      },
  ),
  fc.nat().map(
    (at): Mutation =>
      (bytes) =>
        bytes.slice(0, at % (bytes.length + 1)),
  ),
  fc.constant<Mutation>((bytes) => joined(bytes, bytes)),
  frame.map(
    (other): Mutation =>
      (bytes) =>
        joined(bytes, other),
  ),
  unknownField.map(
    (field): Mutation =>
      (bytes) =>
        joined(bytes, field),
  ),
  unknownField.map(
    (field): Mutation =>
      (bytes) =>
        joined(field, bytes),
  ),
  poison.map(
    (field): Mutation =>
      (bytes) =>
        joined(bytes, field),
  ),
  fc.constant<Mutation>((bytes) => joined(bytes, new Uint8Array(70_000))),
)

const bytes = fc.oneof(
  { weight: 16, arbitrary: frame },
  { weight: 3, arbitrary: fc.tuple(frame, mutation).map(([bytes, mutate]) => mutate(bytes)) },
  fc.uint8Array({ maxLength: 40 }).map((bytes) => new Uint8Array(bytes)),
  ids.map((id) => new Uint8Array(new OracleClientMessage({ requestId: id }).toBinary())),
)

const nonsenseRing = fc.tuple(fc.constantFrom(0, 4, 1032, 1032, 1032, 4096), fc.array(fc.integer(), { maxLength: 8 }))

const notice: fc.Arbitrary<SignalNotice> = fc.oneof(
  nonsenseRing.map(([size, words]) => {
    const sab = new SharedArrayBuffer(size)
    const ring = new Int32Array(sab, 0, Math.floor(size / 4))
    words.forEach((word, i) => {
      if (i < ring.length) ring[i] = word
    })
    return { sab }
  }),
  fc.constantFrom("blob:probe", "blob:dead", "", "https://example.invalid/", "blob:throws").map((probe) => ({ probe })),
  fc.record({
    requestId: fc.oneof(ids, fc.constantFrom(-1, 1.5, Number.NaN, 2 ** 40)),
    url: fc.constantFrom(
      "blob:alive",
      "blob:dead",
      "blob:throws",
      "",
      "file:///etc/passwd",
      `blob:${"x".repeat(5000)}`,
    ),
  }),
)

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 30, arbitrary: bytes.map((bytes) => ({ do: "send", bytes }) as const) },
  { weight: 3, arbitrary: notice.map((notice) => ({ do: "signal", notice }) as const) },
  { weight: 5, arbitrary: fc.constant({ do: "wait" } as const) },
  { weight: 1, arbitrary: fc.constant({ do: "close" } as const) },
)

const hello: fc.Arbitrary<Event> = fc.record({
  do: fc.constant("hello" as const),
  id: ids,
  token: fc.oneof(
    { weight: 20, arbitrary: fc.constant("good" as const) },
    fc.constantFrom("bad" as const, "" as const),
  ),
  database: fc.oneof(
    { weight: 20, arbitrary: fc.constant("real") },
    fc.constantFrom("", "DB_222222222222", "../x", "x".repeat(200), "DB_\u0000"),
  ),
})

/** A socket's life: mostly it says Hello first. */
export const life: fc.Arbitrary<Event[]> = fc
  .tuple(
    fc.array(fc.oneof(hello, event), { maxLength: 1 }),
    fc.option(hello, { freq: 9 }),
    fc.array(event, { maxLength: 25 }),
  )
  .map(([odd, first, events]) => [
    ...(odd.length > 0 && first === null ? odd : []),
    ...(first ? [first] : []),
    ...events,
  ])
