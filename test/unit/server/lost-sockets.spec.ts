import { expect, test } from "@playwright/test"
import { MemoryStorage } from "../../../src/storage/memory.ts"
import { TestService } from "../../fixtures/service.ts"
import { settle } from "../../fixtures/wire-peer.ts"

test("what a lost socket had queued never runs, nor if the turn comes free in the same moment", async () => {
  await using at = await TestService.start()
  const [peer, other] = [await at.connect(), await at.connect()]
  await peer.exec("CREATE TABLE t(x)")
  await other.begin()
  for (const i of [1, 2, 3]) void peer.exec(`INSERT INTO t VALUES(${i})`)
  await peer.ping()
  peer.link.close()
  await other.rollback()
  await settle(other)
  expect((await other.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
})

test("a request that waits for the turn when the service closes never runs, though the turn comes free then", async () => {
  const storage = new MemoryStorage()
  const at = await TestService.start({}, { storage })
  const [holder, waiting] = [await at.connect(), await at.connect()]
  await holder.exec("CREATE TABLE t(x)")
  await holder.begin()
  void waiting.exec("INSERT INTO t VALUES(1)")
  await waiting.ping()
  await at.service.close()
  await using again = await TestService.start({}, { storage })
  const peer = await again.connect(at.databaseId)
  expect((await peer.query("SELECT count(*) FROM t")).rows).toEqual([[0n]])
})
