import { createWriteStream, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { expect, test } from "@playwright/test"
import { AgentDBServiceClient } from "../../../src/client/index.ts"
import { Cli } from "../../fixtures/cli.ts"
import { canMeasureMemory, MemoryWatch } from "../../fixtures/memory.ts"
import { connectPeer, createDatabase } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"
import { askFile, hasSqlite3 } from "../../fixtures/sqlite3-cli.ts"

const mebibytes = Number(process.env["AGENTDB_DUMP_MIB"] ?? 40)
const copies = 3
/** Of slices and of garbage; the copies together have far more. */
const boundMiB = 80

const download = async (url: string, path: string) => {
  const { body } = await fetch(url)
  await pipeline(Readable.fromWeb(body as never), createWriteStream(path))
}

test(`dumps of the Node server are files: ${copies} of ${mebibytes} MiB cost it no memory, and nothing is left`, async () => {
  test.skip(!canMeasureMemory, "this system does not tell what its processes hold")
  test.setTimeout(900_000)
  const temporary = mkdtempSync(join(tmpdir(), "agentdb-dumps-"))
  try {
    using cli = await Cli.startIn({ TMPDIR: temporary }, "serve", "--port", "0")
    const at = await cli.address()
    const databaseId = await createDatabase(at)
    const peer = await connectPeer({ ...at, databaseId })
    await peer.exec("CREATE TABLE filler(x)")
    for (let left = mebibytes; left > 0; left -= 5) {
      const rows = `WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT ${Math.min(left, 5) * 1024})`
      expect((await peer.exec(`INSERT INTO filler ${rows} SELECT randomblob(990) FROM c`)).error).toBeUndefined()
    }
    const management = new AgentDBServiceClient({ url: at.url, token: token() })
    // What the first one needs once, the others don't need again.
    await management.dumpDatabase(databaseId)

    const memory = new MemoryWatch(cli.child.pid as number)
    const file = join(temporary, "downloaded.sqlite")
    for (let i = 0; i < copies; i++) {
      const { downloadUrl } = await management.dumpDatabase(databaseId)
      await download(downloadUrl, file)
      expect(statSync(file).size).toBeGreaterThan(mebibytes * 1024 * 1024)
    }
    memory.stop()
    console.log(`${copies} dumps of ${mebibytes} MiB: at most ${Math.round(memory.growth)} MiB more than before`)
    expect(memory.growth).toBeLessThan(boundMiB)
    if (hasSqlite3) expect(askFile(file, "PRAGMA integrity_check; SELECT count(*) FROM filler")).toMatch(/^ok\n\d+$/)
    rmSync(file)

    // They have no names, so even a kill leaves nothing of them.
    const [folder, ...others] = readdirSync(temporary)
    expect(others).toEqual([])
    expect(readdirSync(join(temporary, folder as string))).toEqual([])
    cli.child.kill("SIGTERM")
    expect(await cli.exit).toBe(0)
    expect(readdirSync(temporary)).toEqual([])
  } finally {
    rmSync(temporary, { recursive: true })
  }
})
