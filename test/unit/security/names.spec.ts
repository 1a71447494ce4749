import { expect, test } from "@playwright/test"
import { connect } from "agentdb-web/client"
import { createLinkPair } from "../../../src/link/memory-link.ts"
import { resolveLimits } from "../../../src/wire/limits.ts"
import { TestService, token } from "../../fixtures/service.ts"
import { call } from "../../fixtures/twirp-call.ts"

const names = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "valueOf", "then", "toJSON"]
const before = Object.getOwnPropertyNames(Object.prototype).sort()
const untouched = () => {
  expect(Object.getOwnPropertyNames(Object.prototype).sort()).toEqual(before)
  expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined()
}

test("C13 names of Object's own as columns are names like any other, in rows, batches and twice", async () => {
  await using at = await TestService.start()
  const link = () => {
    const [mine, theirs] = createLinkPair()
    at.service.accept(theirs)
    return mine
  }
  await using db = await connect({ link, databaseId: at.databaseId, token })
  const sql = `SELECT ${names.map((name, i) => `${i} AS "${name}"`).join(", ")}, 99 AS "__proto__"`
  const { results } = await db.batch([sql])
  const [part] = results
  const first = await db.query(sql).first()
  const inTransaction = await db.transaction((tx) => tx.query(sql).first())
  for (const row of [first, inTransaction, part && "rows" in part ? part.rows[0] : undefined]) {
    expect(Object.getPrototypeOf(row)).toBe(Object.prototype)
    expect(Object.entries(row as object)).toEqual([...names.map((name, i) => [name, i]), ["__proto__:1", 99]])
  }
  untouched()
})

test("names of Object's own as ids, keys, JSON and limits are refused like any other stranger", async () => {
  await using at = await TestService.start({}, { keys: { devkey: "secret" } })
  for (const name of names) {
    await expect(at.management.get(name)).rejects.toMatchObject({ code: "not_found" })
    const socket = at.socket()
    expect((await socket.hello(token(), name)).error?.code).toBe("not_found")
    const stranger = at.socket()
    expect((await stranger.hello(token(name, "secret"), at.databaseId)).error?.code).toBe("unauthenticated")
    expect(() => resolveLimits(JSON.parse(`{"${name}": 1}`))).toThrow(`unknown limit ${name}`)
    const response = await call(
      at,
      "/twirp/livekit.AgentDBService/CreateDatabase",
      token(),
      `{"${name}": {"polluted": true}, "region": "r"}`,
    )
    expect(response.status, name).toBe(200)
  }
  const wrong = await call(at, "/twirp/livekit.AgentDBService/__proto__", token(), "{}")
  expect(wrong.status).toBe(404)
  untouched()
})
