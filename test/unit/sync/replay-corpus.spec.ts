import { expect, test } from "@playwright/test"
import { contentHash, replay } from "../../../src/sync/index.ts"
import { corpus } from "../../fixtures/corpus.ts"
import { type NodeServer, startServer } from "../../fixtures/node-server.ts"
import { connectSocket, quietSource, targetOf } from "../../fixtures/replay.ts"
import { TestService } from "../../fixtures/service.ts"
import { sinkOptions } from "../../fixtures/snapshot-source.ts"
import { askBytes, hasSqlite3, noSqlite3 } from "../../fixtures/sqlite3-cli.ts"

const isLong = process.env["AGENTDB_REPLAY_ROUNDS"] !== undefined

let service: TestService
let server: NodeServer
test.beforeAll(async () => {
  service = await TestService.start()
  server = await startServer()
})
test.afterAll(async () => {
  await server.close()
  await service[Symbol.asyncDispose]()
})

for (const { name, statements, contentless } of corpus) {
  test(`replayed over a socket and dumped: ${name}`, async () => {
    // Short of time, `replay.spec.ts` has such values.
    test.skip(name === "values larger than a frame" && !isLong, "in the long form: npm run test:sync")
    test.slow()
    const source = await quietSource(service, statements)
    const pushed = replay(targetOf(server)).write(source, sinkOptions())
    if (contentless !== undefined) {
      await expect(pushed).rejects.toMatchObject({
        code: "failed_precondition",
        message: expect.stringContaining(contentless),
      })
      return
    }
    const { databaseId = "", sha256 } = await pushed
    await using there = await connectSocket(server.wsUrl, databaseId)
    expect((await contentHash(there)).sha256).toBe(sha256)
    test.skip(!hasSqlite3, noSqlite3)
    const { downloadUrl } = await targetOf(server).service.dumpDatabase(databaseId)
    const bytes = new Uint8Array(await (await fetch(downloadUrl)).arrayBuffer())
    expect(askBytes(bytes, "PRAGMA integrity_check")).toBe("ok")
  })
}
