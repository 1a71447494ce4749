import { request } from "node:http"
import { expect, test } from "@playwright/test"
import { AccessToken } from "livekit-server-sdk"
// By file path: the SDK does not export its Twirp client.
import { TwirpRpc } from "../../../node_modules/livekit-server-sdk/dist/TwirpRPC.js"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import { client } from "../../fixtures/client-tag.ts"
import { connectPeer, createDatabase, type NodeServer, startServer } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"

let server: NodeServer
test.beforeAll(async () => {
  server = await startServer()
})
test.afterAll(() => server.close())

const call = (method: string, body: BodyInit = "{}", headers: Record<string, string> = {}) =>
  fetch(`${server.url}/twirp/livekit.AgentDBService/${method}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json", authorization: `Bearer ${token()}`, ...headers },
  })

test(
  "livekit-server-sdk's Twirp client, unmodified, with a token it minted",
  client("livekit-server-sdk"),
  async () => {
    const access = new AccessToken("devkey", "secret", { ttl: 60 })
    Object.assign(access, { grants: { agent: { databaseAdmin: true } } })
    const rpc = new TwirpRpc(server.url, "livekit", { failover: false })
    const headers = { Authorization: `Bearer ${await access.toJwt()}` }
    const ask = (method: string, data: object) => rpc.request("AgentDBService", method, data, headers)
    const created = await ask("CreateDatabase", { region: "eu" })
    expect(await ask("GetDatabase", { database_id: created.database_id })).toMatchObject({ region: "eu", tip: "0" })
    const { databases } = await ask("ListDatabases", {})
    expect(databases.map((info: { database_id: string }) => info.database_id)).toContain(created.database_id)
    expect(await ask("DeleteDatabase", { database_id: created.database_id })).toEqual({})
    await expect(ask("GetDatabase", { database_id: created.database_id })).rejects.toMatchObject({ code: "not_found" })
  },
)

test("our own Twirp client, with protobuf bodies", async () => {
  const client = new AgentDBServiceClient({ url: server.wsUrl.replace("/db", ""), token: token() })
  const { databaseId } = await client.createDatabase({ ttlSeconds: 60 })
  expect(await client.getDatabase(databaseId)).toMatchObject({ databaseId, region: "local", tip: 0 })
  await client.deleteDatabase(databaseId)
  await expect(client.getDatabase(databaseId)).rejects.toMatchObject({ code: "not_found" })
})

test("a dump is a download at a path of its own, under the name by which the caller reached us", async () => {
  const databaseId = await createDatabase(server)
  const peer = await connectPeer({ ...server, databaseId })
  await peer.exec("CREATE TABLE t(x)")
  for (let i = 0; i < 3; i++) await peer.exec("INSERT INTO t VALUES(randomblob(1000000))")
  const port = new URL(server.url).port
  const client = new AgentDBServiceClient({ url: `http://localhost:${port}`, token: token() })
  const [one, two] = [await client.dumpDatabase(databaseId), await client.dumpDatabase(databaseId)]
  expect(one.tip).toBe(4)
  expect(one.downloadUrl).toMatch(new RegExp(`^http://localhost:${port}/dumps/[\\w-]{32}\\.sqlite$`))
  expect(two.downloadUrl).not.toBe(one.downloadUrl)
  const head = await fetch(one.downloadUrl, { method: "HEAD" })
  const body = await fetch(one.downloadUrl)
  for (const { status, headers } of [head, body]) {
    expect(status).toBe(200)
    expect(headers.get("content-type")).toBe("application/vnd.sqlite3")
    expect(headers.get("content-disposition")).toBe('attachment; filename="agentdb.sqlite"')
    expect(headers.get("access-control-allow-origin")).toBe("*")
  }
  const file = Buffer.from(await body.arrayBuffer())
  expect(file.length).toBe(Number(head.headers.get("content-length")))
  expect(file.length).toBeGreaterThan(3_000_000)
  expect(file.subarray(0, 15).toString()).toBe("SQLite format 3")
  expect((await fetch(`${server.url}/dumps/x.sqlite`)).status).toBe(404)
})

test("a dump is there while the worker is busy, and gone when its time is over", async () => {
  await using brief = await startServer({ limits: { dumpUrlSeconds: 2 } })
  const client = new AgentDBServiceClient({ url: brief.url, token: token() })
  const { downloadUrl } = await client.dumpDatabase(brief.databaseId)
  const peer = await connectPeer(brief)
  const runaway = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT sum(x) FROM c"
  const busy = peer.request({ case: "exec", value: { sql: runaway } })
  expect((await fetch(downloadUrl)).status).toBe(200)
  peer.cancel(busy.id)
  expect((await busy.answer).error?.code).toBe("canceled")
  await expect.poll(async () => (await fetch(downloadUrl)).status, { timeout: 15_000 }).toBe(404)
})

test("where no temporary file can be made, a dump says so, and everything else goes on", async () => {
  const before = process.env["TMPDIR"]
  process.env["TMPDIR"] = "/dev/null"
  await using server = await startServer().finally(() => {
    if (before === undefined) delete process.env["TMPDIR"]
    else process.env["TMPDIR"] = before
  })
  const client = new AgentDBServiceClient({ url: server.url, token: token() })
  await expect(client.dumpDatabase(server.databaseId)).rejects.toMatchObject({
    code: "failed_precondition",
    message: expect.stringContaining("no file for the dump can be made: ENOTDIR"),
  })
  expect(await client.getDatabase(server.databaseId)).toMatchObject({ tip: 0 })
})

test("closing lets a download end that is under way, and no other", async () => {
  const mine = await startServer()
  const peer = await connectPeer(mine)
  await peer.exec("CREATE TABLE t AS SELECT zeroblob(30000000) AS x")
  const client = new AgentDBServiceClient({ url: mine.url, token: token() })
  const { downloadUrl } = await client.dumpDatabase(mine.databaseId)
  const { body, headers } = await fetch(downloadUrl)
  const closed = mine.close()
  expect(await peer.closed).toMatchObject({ code: 1001 })
  await expect(fetch(downloadUrl)).rejects.toThrow("fetch failed")
  expect((await new Response(body).arrayBuffer()).byteLength).toBe(Number(headers.get("content-length")))
  await closed
})

test("a body of more than 1 MiB is refused, by its announced length and by its own", async () => {
  const whole = `{"database_id":"${"x".repeat(1024 * 1024)}"}`
  const announced = await call("GetDatabase", whole)
  expect(announced.status).toBe(429)
  expect(await announced.json()).toEqual({ code: "resource_exhausted", msg: "a body has at most 1048576 bytes" })
  const chunked = await new Promise<{ status: number | undefined }>((resolve, reject) => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${token()}` }
    const path = `${server.url}/twirp/livekit.AgentDBService/GetDatabase`
    const sent = request(path, { method: "POST", headers }, (response) => resolve({ status: response.statusCode }))
    sent.on("error", reject)
    sent.write(whole.slice(0, 1000))
    sent.write(whole.slice(1000))
  })
  expect(chunked.status).toBe(429)
  expect((await call("GetDatabase", `{"database_id":"${"x".repeat(1024 * 1024 - 19)}"}`)).status).toBe(400)
})

test("pages of other origins may ask: preflights are answered, and answers carry the header", async () => {
  const preflight = await fetch(`${server.url}/twirp/livekit.AgentDBService/CreateDatabase`, {
    method: "OPTIONS",
    headers: {
      origin: "https://page.example",
      "access-control-request-method": "POST",
      "access-control-request-headers": "authorization,content-type,x-livekit-request-id",
    },
  })
  expect(preflight.status).toBe(204)
  // Some clients name themselves by `user-agent`, which not every browser lets pass unasked.
  expect(preflight.headers.get("access-control-allow-headers")).toBe("authorization, *")
  expect(preflight.headers.get("access-control-allow-methods")).toContain("POST")
  const [good, bad] = [await call("ListDatabases"), await call("ListDatabases", "{}", { authorization: "" })]
  expect([good.status, bad.status]).toEqual([200, 401])
  for (const answer of [preflight, good, bad]) expect(answer.headers.get("access-control-allow-origin")).toBe("*")
})

test("X-Livekit-Request-Id reaches the service", async () => {
  const ids = { "x-livekit-request-id": "the-same" }
  const [one, two] = [await call("CreateDatabase", "{}", ids), await call("CreateDatabase", "{}", ids)]
  expect(await one.json()).toEqual(await two.json())
})

test("the root tells that it lives; anything else is not found", async () => {
  const root = await fetch(`${server.url}/?x`)
  expect([root.status, root.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"])
  expect(await root.text()).toContain("agentdb-web")
  expect((await fetch(server.url, { method: "HEAD" })).status).toBe(200)
  expect((await fetch(server.url, { method: "POST" })).status).toBe(404)
  expect((await fetch(`${server.url}/favicon.ico`)).status).toBe(404)
  const route = await fetch(`${server.url}/twirp/livekit.AgentDBService/GetDatabase`)
  expect([route.status, (await route.json()).code]).toEqual([404, "bad_route"])
})
