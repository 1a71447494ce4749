import { holds, same } from "../deviation.ts"
import { key, twirp } from "../needs.ts"
import { Section } from "../rule.ts"
import { tokenOf } from "../token.ts"
import { refusedBy, TwirpCaller } from "../twirp-caller.ts"

const unknownId = '{"database_id":"DB_222222222222"}'

export const twirpPlane = new Section("Management plane")
  .rule(
    "twirp.protobuf",
    "`POST /twirp/livekit.AgentDBService/<Method>` with a body of `application/protobuf`; the answer has the same form.",
    async (stage) => {
      const id = await stage.create({ region: "eu" })
      const { databaseId, region, tip } = await new TwirpCaller(stage).getInProtobuf(id)
      same([databaseId, region, tip], [id, "eu", 0n])
    },
    twirp,
  )
  .rule(
    "twirp.json",
    "Or `application/json`: snake_case names out, defaults emitted, int64 as strings.",
    async (stage) => {
      const id = await stage.create()
      const { created_at, ...rest } = await new TwirpCaller(stage).json("GetDatabase", { database_id: id })
      same(rest, { database_id: id, region: "local", expires_at: "0", tip: "0" })
      holds(/^\d{10}$/.test(String(created_at)) && typeof created_at === "string", "seconds as a string", created_at)
    },
    twirp,
  )
  .rule(
    "twirp.json-in",
    "JSON in: snake_case and lowerCamel, unknown fields ignored.",
    async (stage) => {
      const id = await stage.create()
      const caller = new TwirpCaller(stage)
      for (const o of [{ database_id: id }, { databaseId: id }, { database_id: id, newer: [1, { a: null }] }]) {
        same((await caller.json("GetDatabase", o))["database_id"], id)
      }
      const page = await caller.json("ListDatabases", { pageSize: 1, page_token: "" })
      same((page["databases"] as unknown[]).length, 1)
    },
    twirp,
  )
  .rule(
    "twirp.content-type",
    "Parameters after `;` of the content type are ignored, and case too.",
    async (stage) => {
      const id = await stage.create()
      const caller = new TwirpCaller(stage)
      for (const type of ["application/json;charset=UTF-8", "Application/JSON", "application/json ; x=y"]) {
        same((await caller.json("GetDatabase", { database_id: id }, { "content-type": type }))["database_id"], id, type)
      }
    },
    twirp,
  )
  .rule(
    "twirp.errors",
    'Errors are `{"code","msg","meta"?}` with the content type exactly `application/json`, and the status of their code.',
    async (stage) => {
      const caller = new TwirpCaller(stage)
      await refusedBy(await caller.post("GetDatabase", unknownId), 404, "not_found")
      await refusedBy(await caller.post("GetDatabase", "{}"), 400, "invalid_argument", "no id")
      await refusedBy(await caller.post("CreateDatabase", '{"ttl_seconds":"-1"}'), 400, "invalid_argument", "ttl")
      await refusedBy(await caller.post("ListDatabases", '{"page_size":-1}'), 400, "invalid_argument", "page size")
    },
    twirp,
  )
  .rule(
    "twirp.token",
    "The token gates this plane too: 401 `unauthenticated`.",
    async (stage) => {
      const caller = new TwirpCaller(stage)
      for (const authorization of ["", "Bearer", "Bearer nonsense", "Basic ZGV2a2V5OnNlY3JldA=="]) {
        const response = await caller.post("GetDatabase", unknownId, { authorization })
        await refusedBy(response, 401, "unauthenticated", authorization || "no header")
      }
    },
    twirp,
  )
  .rule(
    "twirp.token-claims",
    "Expired, of a wrong signature, without the grant: each is 401 `unauthenticated`.",
    async (stage) => {
      const { key } = stage.target
      if (!key) return
      const caller = new TwirpCaller(stage)
      const now = Math.floor(Date.now() / 1000)
      const bad: [string, string][] = [
        ["expired", tokenOf(key, { exp: now - 90 })],
        ["another secret", tokenOf({ ...key, secret: "not the secret" })],
        ["no grant", tokenOf(key, { agent: {} })],
        ["alg none", tokenOf(key, {}, "none")],
      ]
      for (const [about, token] of bad) {
        const response = await caller.post("GetDatabase", unknownId, { authorization: `Bearer ${token}` })
        await refusedBy(response, 401, "unauthenticated", about)
      }
    },
    twirp,
    key,
  )
  .rule(
    "twirp.route",
    "A wrong verb, path or content type is `bad_route` with the meta `twirp_invalid_route`.",
    async (stage) => {
      const caller = new TwirpCaller(stage)
      const path = "/twirp/livekit.AgentDBService/GetDatabase"
      const headers = { "content-type": "application/json", authorization: `Bearer ${await stage.token()}` }
      const post = { method: "POST", headers, body: unknownId }
      const wrong: [string, string, RequestInit][] = [
        [`GET ${path}`, path, { method: "GET", headers }],
        [`POST ${path}x`, `${path}x`, post],
        ["POST /twirp/livekit.Other/Get", "/twirp/livekit.Other/Get", post],
        [`POST ${path}`, path, { ...post, headers: { ...headers, "content-type": "text/plain" } }],
      ]
      for (const [route, target, init] of wrong) {
        const body = await refusedBy(await caller.at(target, init), 404, "bad_route", route)
        same(body["meta"], { twirp_invalid_route: route }, route)
      }
    },
    twirp,
  )
  .rule(
    "twirp.malformed",
    "A body that cannot be decoded is `malformed`.",
    async (stage) => {
      const caller = new TwirpCaller(stage)
      for (const body of ["{nope", '{"database_id":7}', "[]", "", '"x"']) {
        await refusedBy(await caller.post("GetDatabase", body), 400, "malformed", body || "empty")
      }
      const binary = { "content-type": "application/protobuf" }
      await refusedBy(await caller.post("GetDatabase", new Uint8Array([0xff]), binary), 400, "malformed", "protobuf")
    },
    twirp,
  )
  .rule(
    "twirp.idempotency",
    "`X-Livekit-Request-Id` is an idempotency key for CreateDatabase, and never creates twice.",
    async (stage) => {
      const caller = new TwirpCaller(stage)
      const key = { "x-livekit-request-id": crypto.randomUUID() }
      const made = await Promise.all([1, 2, 3].map(() => caller.json("CreateDatabase", {}, key)))
      const again = await caller.json("CreateDatabase", {}, key)
      const ids = new Set([...made, again].map((one) => String(one["database_id"])))
      same(ids.size, 1, "databases that were made")
      const other = await caller.json("CreateDatabase", {}, { "x-livekit-request-id": crypto.randomUUID() })
      ids.add(String(other["database_id"]))
      same(ids.size, 2, "with another key")
      for (const id of ids) await stage.target.management.deleteDatabase(id)
    },
    twirp,
  ).rules
