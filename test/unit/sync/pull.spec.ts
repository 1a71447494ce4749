import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, test } from "@playwright/test"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import { pullSnapshot } from "../../../src/sync/pull.ts"
import { connectTo } from "../../fixtures/local-connection.ts"
import { connectPeer, startServer } from "../../fixtures/node-server.ts"
import { fileOf } from "../../fixtures/restored.ts"
import { TestService, token } from "../../fixtures/service.ts"

const retry = { minDelayMs: 1, maxDelayMs: 5 }
const statements = [
  "CREATE TABLE t(x)",
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT randomblob(1000) FROM n",
]

/** The part of an AgentDB that a pull needs, over a service of this process. */
const into = ({ management }: TestService) => ({
  restoreDatabase: (file: Blob | Uint8Array) => management.restore({ file: file as Blob }),
})

async function countOf(at: TestService, databaseId: string): Promise<unknown> {
  await using connection = await connectTo(at, databaseId)
  return (await connection.query("SELECT count(*) AS n FROM t").first())?.["n"]
}

/** A server of one file, which can be made to fail. */
async function serveFile(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/file.sqlite?signature=secret`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test("a database of a server comes over", async () => {
  const server = await startServer()
  await using at = await TestService.start()
  try {
    const peer = await connectPeer(server)
    for (const sql of statements) await peer.exec(sql)
    const client = new AgentDBServiceClient({ url: server.url, token: token() })
    const phases = new Set<string>()
    const pulled = await pullSnapshot({
      client,
      databaseId: server.databaseId,
      into: into(at),
      onProgress: ({ phase }) => phases.add(phase),
    })
    expect(pulled).toMatchObject({ sourceTip: 2, warnings: [] })
    expect(phases).toContain("download")
    expect(await countOf(at, pulled.databaseId)).toBe(3000)
  } finally {
    await server.close()
  }
})

test("a download that is cut goes on where it was, and from the start where what is there has changed", async () => {
  const file = await fileOf(statements)
  await using at = await TestService.start()
  const ranges: (string | undefined)[] = []
  let etag = '"one"'
  await using server = await serveFile((request, response) => {
    const { range } = request.headers
    ranges.push(range)
    const start = range && request.headers["if-range"] === etag ? Number(/\d+/.exec(range)?.[0]) : 0
    const rest = file.subarray(start)
    response.setHeader("etag", etag)
    response.setHeader("content-length", rest.length)
    if (start > 0) response.setHeader("content-range", `bytes ${start}-${file.length - 1}/${file.length}`)
    response.writeHead(start > 0 ? 206 : 200)
    if (ranges.length === 2) etag = '"two"'
    if (ranges.length === 5) response.end(rest)
    else response.write(rest.subarray(0, 500_000), () => setTimeout(() => response.destroy(), 30))
  })
  const { databaseId, bytes } = await pullSnapshot({ url: server.url, into: into(at), retry })
  expect(bytes).toBe(file.length)
  expect(ranges).toEqual([undefined, "bytes=500000-", "bytes=1000000-", "bytes=500000-", "bytes=1000000-"])
  expect(await countOf(at, databaseId)).toBe(3000)
})

test("an answer that stays is told at once, one that passes is asked again, and none makes a database", async () => {
  await using at = await TestService.start()
  const statuses = [503, 429, 404]
  await using server = await serveFile((_, response) => response.writeHead(statuses.shift() ?? 500).end())
  await expect(pullSnapshot({ url: server.url, into: into(at), retry })).rejects.toMatchObject({ code: "not_found" })
  expect(statuses).toEqual([])
  await expect(pullSnapshot({ url: server.url, into: into(at), retry })).rejects.toMatchObject({
    code: "unavailable",
    message: expect.not.stringContaining("secret"),
  })
  const aborted = new AbortController()
  await using hanging = await serveFile((_, response) => {
    response.writeHead(200)
    response.write("SQLite format 3")
    setTimeout(() => aborted.abort(), 20)
  })
  const pull = pullSnapshot({ url: hanging.url, into: into(at), retry, signal: aborted.signal })
  await expect(pull).rejects.toMatchObject({ code: "canceled", name: "AbortError" })
  expect((await at.management.list()).databases.length).toBe(1)
})
