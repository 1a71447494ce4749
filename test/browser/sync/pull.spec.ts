import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page } from "@playwright/test"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import { expect, openHarness, test } from "../../fixtures/browser.ts"
import { connectPeer, startServer } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"

const fill = [
  "CREATE TABLE t(x)",
  "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t SELECT randomblob(1000) FROM n",
]

/** A Node server with such a database. */
async function cloud() {
  const server = await startServer()
  const peer = await connectPeer(server)
  for (const sql of fill) await peer.exec(sql)
  peer.link.close()
  return server
}

/** Pulls and counts; `options` of the pull are those that travel. */
function pull(page: Page, from: { url: string; databaseId?: string; token?: string; whenOnline?: boolean }) {
  return page.evaluate(async ({ url, databaseId, token = "", whenOnline = false }) => {
    const { client, openAgentDB, sync } = window.agentdbWeb
    const agentdb = await openAgentDB()
    const phases = new Set<string>()
    const o = {
      ...{ into: agentdb, whenOnline, retry: { minDelayMs: 10, maxDelayMs: 50 } },
      onProgress: ({ phase }: { phase: string }) => void phases.add(phase),
    }
    try {
      const pulled =
        databaseId === undefined
          ? await sync.pullSnapshot({ url, ...o })
          : await sync.pullSnapshot({ client: new client.AgentDBServiceClient({ url, token }), databaseId, ...o })
      const db = await agentdb.connect(pulled.databaseId)
      const rows = (await db.query("SELECT count(*) AS n FROM t").first())?.["n"]
      await db.close()
      const { tip } = await agentdb.getDatabase(pulled.databaseId)
      return { rows, tip, sourceTip: pulled.sourceTip, phases: [...phases] }
    } catch (error) {
      return { code: (error as { code?: string }).code, left: (await agentdb.listDatabases()).databases.length }
    }
  }, from)
}

test("a page pulls a database of a cloud over HTTP", async ({ page, site }) => {
  await using server = await cloud()
  await openHarness(page, site.plain)
  const { url, databaseId } = server
  expect(await pull(page, { url, databaseId, token: token() })).toEqual({
    ...{ rows: 3000, tip: 1, sourceTip: 2 },
    phases: ["download", "restore"],
  })
  expect(await pull(page, { url, databaseId: "DB_none", token: token() })).toEqual({ code: "not_found", left: 1 })
})

test("a page pulls a file of another origin: what is cut goes on where it was, and no network is waited for", async ({
  page,
  context,
  site,
}) => {
  await using server = await cloud()
  const { downloadUrl } = await new AgentDBServiceClient({ url: server.url, token: token() }).dumpDatabase(
    server.databaseId,
  )
  const file = new Uint8Array(await (await fetch(downloadUrl)).arrayBuffer())
  const ranges: (string | undefined)[] = []
  const isOffline = { after: 0 }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    response.setHeader("access-control-allow-origin", "*")
    response.setHeader("access-control-allow-headers", "range, if-range")
    response.setHeader("access-control-expose-headers", "etag, content-range")
    if (request.method === "OPTIONS") return response.end()
    const { range } = request.headers
    ranges.push(range)
    const start = Number(/\d+/.exec(range ?? "")?.[0] ?? 0)
    const rest = file.subarray(start)
    response.setHeader("etag", '"one"')
    response.setHeader("content-length", rest.length)
    if (start > 0) response.setHeader("content-range", `bytes ${start}-${file.length - 1}/${file.length}`)
    response.writeHead(start > 0 ? 206 : 200)
    if (ranges.length > 2) return response.end(rest)
    response.write(rest.subarray(0, 500_000))
    setTimeout(async () => {
      if (ranges.length === isOffline.after) await context.setOffline(true)
      response.destroy()
    }, 100)
    return response
  }
  const files = createServer(answer)
  await new Promise<void>((resolve) => files.listen(0, "127.0.0.1", resolve))
  const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}/file.sqlite`
  try {
    await openHarness(page, site.plain)
    expect(await pull(page, { url })).toMatchObject({ rows: 3000, tip: 1 })
    const [first, ...later] = ranges
    expect(first).toBeUndefined()
    expect(later).toHaveLength(2)
    for (const range of later) expect(range).toMatch(/^bytes=\d{5,}-$/)

    await context.setOffline(true)
    expect(await pull(page, { url })).toEqual({ code: "unavailable", left: 1 })
    const waiting = pull(page, { url, whenOnline: true })
    ranges.length = 0
    isOffline.after = 2
    await context.setOffline(false)
    await expect.poll(() => page.evaluate(() => navigator.onLine)).toBe(false)
    await context.setOffline(false)
    expect(await waiting).toMatchObject({ rows: 3000, phases: expect.arrayContaining(["waiting"]) })
    expect(ranges).toHaveLength(3)
  } finally {
    files.closeAllConnections()
    await new Promise((resolve) => files.close(resolve))
  }
})
