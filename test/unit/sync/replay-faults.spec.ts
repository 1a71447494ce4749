import { expect, test } from "@playwright/test"
import { AgentDBError, AgentDBServiceClient, type SinkOptions } from "../../../src/client/index.ts"
import { contentHash, type ReplayOptions, replay } from "../../../src/sync/index.ts"
import { CutProxy } from "../../fixtures/cut-proxy.ts"
import { type NodeServer, startServer } from "../../fixtures/node-server.ts"
import { Random } from "../../fixtures/random.ts"
import { connectSocket, quietSource, targetOf } from "../../fixtures/replay.ts"
import { TestService, token } from "../../fixtures/service.ts"
import { sinkOptions } from "../../fixtures/snapshot-source.ts"

const rounds = Number(process.env["AGENTDB_REPLAY_ROUNDS"] ?? 1)
const quick = { attempts: 8, minDelayMs: 5, maxDelayMs: 50 }

const schema = [
  "CREATE TABLE parent(id INTEGER PRIMARY KEY, a)",
  "CREATE TABLE child(up REFERENCES parent, data BLOB)",
  "CREATE TABLE log(what)",
  "WITH n(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM n WHERE v < 20000) INSERT INTO parent SELECT v, 'row ' || v FROM n",
  "INSERT INTO child SELECT id, randomblob(30000) FROM parent LIMIT 60",
  "INSERT INTO child VALUES (7, zeroblob(2500000))",
  "CREATE INDEX by_a ON parent(a)",
  "CREATE TRIGGER added AFTER INSERT ON parent BEGIN INSERT INTO log VALUES (new.id); END",
]

let service: TestService
let server: NodeServer
let proxy: CutProxy
test.beforeEach(async () => {
  service = await TestService.start()
  server = await startServer()
  proxy = await CutProxy.start(Number(new URL(server.url).port))
})
test.afterEach(async () => {
  await proxy.close()
  await server.close()
  await service[Symbol.asyncDispose]()
})

/** Everything goes through the proxy. */
const throughProxy = (): ReplayOptions & { service: AgentDBServiceClient } => ({
  service: new AgentDBServiceClient({ url: proxy.origin, token: token() }),
  connect: (databaseId) => connectSocket(`${proxy.origin.replace("http", "ws")}/db`, databaseId),
  retry: quick,
})

/** All but the one that the server starts with. */
async function made(on: Pick<NodeServer, "url" | "wsUrl" | "databaseId"> = server): Promise<string[]> {
  const { databases } = await targetOf(on).service.listDatabases()
  return databases.map(({ databaseId }) => databaseId).filter((id) => id !== on.databaseId)
}

async function expectOnly(databaseId: string | undefined, sha256: string, on = server): Promise<void> {
  expect(await made(on)).toEqual([databaseId])
  await using there = await connectSocket(on.wsUrl, databaseId as string)
  expect((await contentHash(there)).sha256).toBe(sha256)
  expect(await there.query("SELECT count(*) AS n FROM log").all()).toEqual([{ n: 0 }])
}

/** Options that remember, and do something once so many bytes are through. */
function watched(atBytes: number, act: () => void, more: Partial<SinkOptions> = {}) {
  let done = false
  const kept: { resume: string | undefined } = { resume: undefined }
  const options = sinkOptions({
    ...more,
    remember: async (resume) => {
      kept.resume = resume
    },
    onProgress: ({ phase, doneBytes }) => {
      if (done || phase !== "uploading" || doneBytes < atBytes) return
      done = true
      act()
    },
  })
  return { kept, options }
}

for (let round = 0; round < rounds; round++) {
  test(`ten cuts of the connection and one whole database (${round + 1})`, async () => {
    const seed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 2 ** 32)
    test.info().annotations.push({ type: "seed", description: String(seed) })
    const random = new Random(seed)
    const cuts = Array.from({ length: 10 }, (_, i) =>
      i % 3 === 2 ? ({} as const) : { afterBytes: random.below(400_000) },
    )
    proxy.cutAt(...cuts)
    const source = await quietSource(service, schema)
    const { tip } = await service.management.get(source.databaseId)
    const result = await replay({ ...throughProxy(), retry: { ...quick, attempts: 20 } }).write(source, sinkOptions())
    expect(proxy.pendingCuts).toBe(0)
    await expectOnly(result.databaseId, result.sha256)
    const copy = await source.open()
    expect(await contentHash(copy.connection)).toMatchObject({ sha256: result.sha256, tip })
    await copy.release()
  })
}

test("an abort leaves nothing", async () => {
  const source = await quietSource(service, schema)
  const abort = new AbortController()
  const { options } = watched(1_000_000, () => abort.abort(), { signal: abort.signal })
  await expect(replay(throughProxy()).write(source, options)).rejects.toMatchObject({
    code: "canceled",
    name: "AbortError",
  })
  expect(await made()).toEqual([])
})

test("what can't be deleted since the target is gone is deleted by the next push", async () => {
  const source = await quietSource(service, schema)
  const { options, kept } = watched(1_000_000, () => proxy.refuse(true))
  const failure = await replay(throughProxy())
    .write(source, options)
    .catch((error: unknown) => error)
  expect(failure).toMatchObject({ code: "unavailable" })
  const left = await made()
  expect(left).toHaveLength(1)
  expect(String(failure)).toContain(`an unfinished database ${left[0]} is left`)
  proxy.refuse(false)
  const unfinished = { tip: 1, sha256: "", resume: kept.resume }
  const result = await replay(throughProxy()).write(source, sinkOptions({ unfinished }))
  await expectOnly(result.databaseId, result.sha256)
  expect(result.databaseId).not.toBe(left[0])
})

test("a target that dies and comes back empty gets one whole database by the next push", async () => {
  const source = await quietSource(service, schema)
  let closing: Promise<void> | undefined
  const { options, kept } = watched(1_000_000, () => {
    closing = server.close()
  })
  await expect(replay(throughProxy()).write(source, options)).rejects.toMatchObject({ code: "unavailable" })
  await closing
  await using again = await startServerAgain()
  const unfinished = { tip: 1, sha256: "", resume: kept.resume }
  const result = await replay({ ...targetOf(again), retry: quick }).write(source, sinkOptions({ unfinished }))
  await expectOnly(result.databaseId, result.sha256, again)
})

async function startServerAgain() {
  const again = await startServer()
  return { ...again, [Symbol.asyncDispose]: () => again.close() }
}

test("an answer to CreateDatabase that is lost makes no second database", async () => {
  const source = await quietSource(service, schema.slice(0, 3))
  const { service: client, ...rest } = throughProxy()
  let lost = 0
  const forgetful: ReplayOptions["service"] = {
    async createDatabase(o) {
      const created = await client.createDatabase(o)
      if (lost++ === 0) throw new AgentDBError("disconnected", "the answer was lost")
      return created
    },
    deleteDatabase: (id) => client.deleteDatabase(id),
  }
  const result = await replay({ ...rest, service: forgetful }).write(source, sinkOptions())
  expect(lost).toBe(2)
  await expectOnly(result.databaseId, result.sha256)
})

test("a push that was killed before it heard of its database leaves nothing to the next one", async () => {
  const source = await quietSource(service, schema.slice(0, 3))
  const requestId = "of a page that is gone"
  await throughProxy().service.createDatabase({ requestId })
  const unfinished = { tip: 1, sha256: "", resume: JSON.stringify({ requestId }) }
  const result = await replay(throughProxy()).write(source, sinkOptions({ unfinished }))
  await expectOnly(result.databaseId, result.sha256)
})

test("content that arrives changed is data_loss, and what was made is deleted", async () => {
  const source = await quietSource(service, schema)
  const { service: client, connect, ...rest } = throughProxy()
  // Someone with the same key writes into the database before it is whole.
  let meddled = false
  const meddling: ReplayOptions["connect"] = async (databaseId) => {
    const connection = await connect(databaseId)
    const batch = connection.batch.bind(connection)
    connection.batch = async (statements, o) => {
      const result = await batch(statements, o)
      const last = statements.at(-1)
      if (!meddled && typeof last === "string" && last.startsWith("CREATE INDEX")) {
        meddled = true
        await connection.exec("UPDATE parent SET a = 'meddled' WHERE id = 5")
      }
      return result
    }
    return connection
  }
  await expect(
    replay({ ...rest, service: client, connect: meddling }).write(source, sinkOptions()),
  ).rejects.toMatchObject({ code: "data_loss" })
  expect(meddled).toBe(true)
  expect(await made()).toEqual([])
})
