import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { expect, test } from "@playwright/test"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import * as pb from "../../../src/gen/livekit_agentdb_pb.ts"
import { failure } from "./fake-peer.ts"

interface Call {
  url: string
  headers: Headers
  body: Uint8Array
}

/** A server of one answer, and what it was asked. */
function answering(respond: (call: Call) => Response | Promise<Response>, url = "https://host.example/") {
  const calls: Call[] = []
  const fetch = (async (input: string, init: RequestInit) => {
    expect(init.method).toBe("POST")
    const call = { url: input, headers: new Headers(init.headers), body: init.body as Uint8Array }
    calls.push(call)
    init.signal?.throwIfAborted()
    return respond(call)
  }) as unknown as typeof globalThis.fetch
  return { calls, client: new AgentDBServiceClient({ url, token: "tok", fetch }) }
}

const proto = <S extends DescMessage>(schema: S, init: MessageInitShape<S>) =>
  new Response(toBinary(schema, create(schema, init)) as Uint8Array<ArrayBuffer>)

test("the five calls, by path, headers and bodies", async () => {
  const info = { databaseId: "DB_a", region: "local", createdAt: 10n, expiresAt: 20n, tip: 3n }
  const { client, calls } = answering(({ url }) => {
    switch (url.split("/").at(-1)) {
      case "CreateDatabase":
        return proto(pb.AgentDB_CreateResponseSchema, { databaseId: "DB_a", expiresAt: 20n })
      case "GetDatabase":
        return proto(pb.AgentDB_AgentDatabaseSchema, info)
      case "ListDatabases":
        return proto(pb.AgentDB_ListResponseSchema, { databases: [info, { databaseId: "DB_b" }], nextPageToken: "n" })
      case "DeleteDatabase":
        return proto(pb.AgentDB_DeleteResponseSchema, {})
      default:
        return proto(pb.AgentDB_DumpResponseSchema, { downloadUrl: "blob:x", expiresAt: 5n, tip: 3n })
    }
  })
  expect(await client.createDatabase({ region: "eu", ttlSeconds: 60 })).toEqual({ databaseId: "DB_a", expiresAt: 20 })
  await client.createDatabase({ ttlSeconds: 60n })
  await client.createDatabase()
  const mine = { databaseId: "DB_a", region: "local", createdAt: 10, expiresAt: 20, tip: 3 }
  expect(await client.getDatabase("DB_a")).toEqual(mine)
  expect(await client.listDatabases({ pageSize: 2, pageToken: "p" })).toEqual({
    databases: [mine, { databaseId: "DB_b", region: "", createdAt: 0, expiresAt: 0, tip: 0 }],
    nextPageToken: "n",
  })
  expect(await client.deleteDatabase("DB_a")).toBeUndefined()
  expect(await client.dumpDatabase("DB_a")).toEqual({ downloadUrl: "blob:x", expiresAt: 5, tip: 3 })

  expect(calls.map(({ url }) => url.replace("https://host.example/twirp/livekit.AgentDBService/", ""))).toEqual([
    "CreateDatabase",
    "CreateDatabase",
    "CreateDatabase",
    "GetDatabase",
    "ListDatabases",
    "DeleteDatabase",
    "DumpDatabase",
  ])
  for (const { headers } of calls) {
    expect(headers.get("content-type")).toBe("application/protobuf")
    expect(headers.get("authorization")).toBe("Bearer tok")
  }
  const [first, second, third, get, list] = calls
  const ids = [first, second, third].map((call) => call?.headers.get("x-livekit-request-id"))
  expect(new Set(ids).size).toBe(3)
  expect(fromBinary(pb.AgentDB_CreateRequestSchema, first?.body ?? new Uint8Array())).toMatchObject({
    region: "eu",
    ttlSeconds: 60n,
  })
  expect(fromBinary(pb.AgentDB_CreateRequestSchema, second?.body ?? new Uint8Array())).toMatchObject({
    ttlSeconds: 60n,
  })
  expect(third?.body).toHaveLength(0)
  expect(fromBinary(pb.AgentDB_GetRequestSchema, get?.body ?? new Uint8Array())).toMatchObject({ databaseId: "DB_a" })
  expect(fromBinary(pb.AgentDB_ListRequestSchema, list?.body ?? new Uint8Array())).toMatchObject({
    pageSize: 2,
    pageToken: "p",
  })
})

test("numbers that a field can't carry reject by name, and nothing is sent", async () => {
  const { client, calls } = answering(() => new Response())
  for (const ttlSeconds of [1.5, -1, Number.NaN, 2n ** 63n, -1n]) {
    const error = await failure(client.createDatabase({ ttlSeconds }))
    expect(error).toMatchObject({ code: "invalid_argument" })
    expect(error.message).toContain("ttlSeconds")
  }
  for (const pageSize of [1.5, -1, 2 ** 31]) {
    expect((await failure(client.listDatabases({ pageSize }))).message).toContain("pageSize")
  }
  expect(await failure(client.getDatabase(undefined as never))).toBeInstanceOf(TypeError)
  expect(calls).toEqual([])
})

test("errors keep their code, whoever answers", async () => {
  const twirp = answering(() => Response.json({ code: "not_found", msg: "no such database" }, { status: 404 }))
  const error = await failure(twirp.client.getDatabase("DB_a"))
  expect(error).toMatchObject({ code: "not_found", message: "no such database" })
  expect((error as unknown as Error).stack).toContain("service-client.spec.ts")
  const statuses = {
    401: "unauthenticated",
    403: "permission_denied",
    404: "bad_route",
    429: "unavailable",
    500: "internal",
    503: "unavailable",
  }
  for (const [status, code] of Object.entries(statuses)) {
    const { client } = answering(() => new Response("<html>", { status: Number(status) }))
    expect(await failure(client.getDatabase("DB_a")), status).toMatchObject({ code })
  }
  const garbage = answering(() => new Response(new Uint8Array([0x0a, 0xff])))
  expect(await failure(garbage.client.getDatabase("DB_a"))).toMatchObject({ code: "invalid_response" })
  const lost = answering(() => {
    throw new TypeError("fetch failed")
  })
  expect(await failure(lost.client.getDatabase("DB_a"))).toMatchObject({
    code: "disconnected",
    message: "fetch failed",
  })
})

test("a signal and a deadline end a call", async () => {
  const never = answering(() => new Promise(() => {}))
  const aborted = failure(never.client.getDatabase("DB_a", { signal: AbortSignal.abort() }))
  expect(await aborted).toMatchObject({ code: "canceled" })
  expect(never.calls).toHaveLength(0)
  const server = (await import("node:http")).createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  if (typeof address !== "object" || !address) throw new Error("no address")
  const client = new AgentDBServiceClient({ url: `ws://127.0.0.1:${address.port}`, token: async () => "tok" })
  expect(await failure(client.getDatabase("DB_a", { timeoutMs: 30 }))).toMatchObject({ code: "deadline_exceeded" })
  server.closeAllConnections()
  server.close()
})
