import { expect, test } from "@playwright/test"
import { connectPeer, createDatabase, startServer } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"

test("a worker that is stuck inside one function is ended: sockets close with 1011, and an empty one takes over", async () => {
  await using server = await startServer({ limits: { statementMs: 500 } })
  const [stuck, other] = [await connectPeer(server), await connectPeer(server)]
  // Hours inside one opcode, where no progress handler is asked.
  const sql = "SELECT instr(zeroblob(50000000), CAST(zeroblob(25000000) || x'01' AS BLOB))"
  const answer = stuck.exec(sql)
  // By now it is inside the function.
  await new Promise((resolve) => setTimeout(resolve, 500))
  const call = fetch(`${server.url}/twirp/livekit.AgentDBService/ListDatabases`, {
    method: "POST",
    body: "{}",
    headers: { "content-type": "application/json", authorization: `Bearer ${token()}` },
  })
  for (const peer of [stuck, other]) {
    expect(await peer.closed).toMatchObject({
      code: 1011,
      reason: expect.stringContaining("the worker of the service"),
    })
  }
  expect((await answer).kinds).toEqual(["closed"])
  expect(await (await call).json()).toMatchObject({ code: "internal" })
  const warnings = server.lines.filter((line) => line.startsWith("!"))
  expect(warnings).toEqual([expect.stringMatching(/died.*started again.*in memory is lost/)])
  const databaseId = await expect
    .poll(() => createDatabase(server).catch(() => ""), { timeout: 15_000 })
    .not.toBe("")
    .then(() => createDatabase(server))
  const fresh = await connectPeer({ ...server, databaseId })
  expect((await fresh.query("SELECT 1")).rows).toEqual([[1n]])
})

test("a maintenance statement that runs on within its own limit is left alone", async () => {
  await using server = await startServer({ limits: { statementMs: 500, maintenanceMs: 11_000 } })
  const peer = await connectPeer(server)
  await peer.exec("CREATE TABLE t(v)")
  const rows = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 100000) SELECT x FROM c"
  await peer.exec(`INSERT INTO t ${rows}`)
  // About a millisecond a row, so the limit ends it.
  const { error } = await peer.exec("CREATE INDEX i ON t(length(hex(zeroblob(v + 400000))))")
  expect(error?.code).toBe("deadline_exceeded")
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[100000n]])
  expect(server.lines.filter((line) => line.startsWith("!"))).toEqual([])
})
