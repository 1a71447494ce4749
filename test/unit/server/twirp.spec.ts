import { randomUUID } from "node:crypto"
import { expect, test } from "@playwright/test"
import { AccessToken } from "livekit-server-sdk"
import {
  AgentDB_CreateRequest as CreateRequest,
  AgentDB_CreateResponse as CreateResponse,
} from "../../../node_modules/@livekit/protocol/src/gen/livekit_agentdb_pb.js"
// By file path: the SDK does not export its Twirp client.
import { TwirpError, TwirpRpc } from "../../../node_modules/livekit-server-sdk/dist/TwirpRPC.js"
import { client } from "../../fixtures/client-tag.ts"
import { TestService, token } from "../../fixtures/service.ts"
import { startTwirpServer } from "../../fixtures/twirp-server.ts"

async function start() {
  const at = await TestService.start()
  const server = await startTwirpServer(at.service)
  const path = (method: string) => `${server.url}/twirp/livekit.AgentDBService/${method}`
  const post = (method: string, body: BodyInit, headers: Record<string, string> = {}) =>
    fetch(path(method), {
      method: "POST",
      body,
      headers: { "content-type": "application/json", authorization: `Bearer ${token()}`, ...headers },
    })
  return {
    at,
    server,
    post,
    path,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await at[Symbol.asyncDispose]()
    },
  }
}

async function sdkHeaders(): Promise<Record<string, string>> {
  const access = new AccessToken("devkey", "secret", { ttl: 60 })
  Object.assign(access, { grants: { agent: { databaseAdmin: true } } })
  return { Authorization: `Bearer ${await access.toJwt()}` }
}

test(
  "livekit-server-sdk's Twirp client, unmodified, with tokens it minted, makes all five calls",
  client("livekit-server-sdk"),
  async () => {
    await using plane = await start()
    const rpc = new TwirpRpc(plane.server.url, "livekit", { failover: false })
    const headers = await sdkHeaders()
    const call = (method: string, data: object) => rpc.request("AgentDBService", method, data, headers)

    const created = await call("CreateDatabase", { region: "eu", ttlSeconds: "60" })
    expect(created).toEqual({
      database_id: expect.stringMatching(/^DB_/),
      expires_at: expect.stringMatching(/^\d{10}$/),
    })
    const got = await call("GetDatabase", { databaseId: created.database_id })
    expect(got).toEqual({
      database_id: created.database_id,
      region: "eu",
      created_at: expect.stringMatching(/^\d{10}$/),
      expires_at: created.expires_at,
      tip: "0",
    })
    const listed = await call("ListDatabases", { page_size: 1 })
    expect(listed.databases.map((info: { database_id: string }) => info.database_id)).toEqual([plane.at.databaseId])
    const next = await call("ListDatabases", { pageToken: listed.next_page_token })
    expect(next).toEqual({ databases: [got], next_page_token: "" })
    const dumped = await call("DumpDatabase", { database_id: plane.at.databaseId })
    expect(dumped).toMatchObject({ tip: "0", expires_at: expect.stringMatching(/^\d{10}$/) })
    const file = Buffer.from(await (await fetch(dumped.download_url)).arrayBuffer())
    expect(file.subarray(0, 15).toString()).toBe("SQLite format 3")
    expect(await call("DeleteDatabase", { database_id: created.database_id })).toEqual({})

    const failure = await call("GetDatabase", { database_id: created.database_id }).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(TwirpError)
    expect(failure).toMatchObject({ status: 404, code: "not_found", message: "no such database" })
    const refused = await rpc.request("AgentDBService", "ListDatabases", {}, {}).catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 401, code: "unauthenticated", message: "the token is missing" })
  },
)

test("protobuf in, protobuf out", async () => {
  await using plane = await start()
  const body = new Uint8Array(new CreateRequest({ region: "eu" }).toBinary())
  const response = await plane.post("CreateDatabase", body, { "content-type": "Application/Protobuf; charset=x" })
  expect(response.headers.get("content-type")).toBe("application/protobuf")
  const { databaseId, expiresAt } = CreateResponse.fromBinary(new Uint8Array(await response.arrayBuffer()))
  expect(databaseId).toMatch(/^DB_/)
  expect(expiresAt).toBe(0n)
})

test("JSON: proto names out with defaults and int64 as strings; either spelling in, unknown fields ignored", async () => {
  await using plane = await start()
  for (const body of ['{"ttl_seconds": "0", "new_field": [1]}', '{"ttlSeconds": 0}', "{}"]) {
    const response = await plane.post("CreateDatabase", body, { "content-type": "application/json;charset=UTF-8" })
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(await response.json()).toEqual({ database_id: expect.stringMatching(/^DB_/), expires_at: "0" })
  }
  const page = await (await plane.post("ListDatabases", '{"pageSize": 1000}')).json()
  expect(page.next_page_token).toBe("")
  expect(page.databases[0]).toMatchObject({ region: "local", tip: "0", expires_at: "0" })
})

test("errors: code, status and a content type without charset", async () => {
  await using plane = await start()
  const get = '{"database_id":"DB_222222222222"}'
  const cases: [() => Promise<Response>, number, string][] = [
    [() => plane.post("GetDatabase", get), 404, "not_found"],
    [() => plane.post("GetDatabase", "{}"), 400, "invalid_argument"],
    [() => plane.post("CreateDatabase", '{"ttl_seconds":"-1"}'), 400, "invalid_argument"],
    [() => plane.post("ListDatabases", '{"page_size":-1}'), 400, "invalid_argument"],
    [() => plane.post("GetDatabase", "{nope"), 400, "malformed"],
    [() => plane.post("GetDatabase", '{"database_id":7}'), 400, "malformed"],
    [
      () => plane.post("GetDatabase", new Uint8Array([0xff]), { "content-type": "application/protobuf" }),
      400,
      "malformed",
    ],
    [() => plane.post("GetDatabase", get, { authorization: "" }), 401, "unauthenticated"],
    [
      () => plane.post("GetDatabase", get, { authorization: `Bearer ${token("devkey", "wrong")}` }),
      401,
      "unauthenticated",
    ],
  ]
  for (const [send, status, code] of cases) {
    const response = await send()
    const body = await response.json()
    expect([response.status, body.code]).toEqual([status, code])
    expect(response.headers.get("content-type")).toBe("application/json")
    expect(body.msg).toEqual(expect.any(String))
  }
})

test("a wrong verb, path, method or content type is bad_route and says which", async () => {
  await using plane = await start()
  const authorization = `Bearer ${token()}`
  const json = { "content-type": "application/json", authorization }
  const wrong: [string, RequestInit, string][] = [
    [plane.path("GetDatabase"), { method: "GET", headers: json }, "GET /twirp/livekit.AgentDBService/GetDatabase"],
    [plane.path("Nope"), { method: "POST", headers: json, body: "{}" }, "POST /twirp/livekit.AgentDBService/Nope"],
    [
      `${plane.server.url}/twirp/livekit.Other/Get`,
      { method: "POST", headers: json, body: "{}" },
      "POST /twirp/livekit.Other/Get",
    ],
    [`${plane.server.url}/`, { method: "POST", headers: json, body: "{}" }, "POST /"],
    [
      plane.path("GetDatabase"),
      { method: "POST", headers: { ...json, "content-type": "text/plain" }, body: "{}" },
      "POST /twirp/livekit.AgentDBService/GetDatabase",
    ],
  ]
  for (const [url, init, route] of wrong) {
    const response = await fetch(url, init)
    expect(response.status).toBe(404)
    expect(await response.json()).toEqual({
      code: "bad_route",
      msg: expect.any(String),
      meta: { twirp_invalid_route: route },
    })
  }
})

test("X-Livekit-Request-Id makes CreateDatabase idempotent", async () => {
  await using plane = await start()
  const key = { "X-Livekit-Request-Id": randomUUID() }
  const ids = await Promise.all(
    [1, 2, 3].map(async () => (await (await plane.post("CreateDatabase", "{}", key)).json()).database_id),
  )
  expect(new Set(ids).size).toBe(1)
  const other = await (await plane.post("CreateDatabase", "{}", { "X-Livekit-Request-Id": randomUUID() })).json()
  expect(other.database_id).not.toBe(ids[0])
})
