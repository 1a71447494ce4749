import { test } from "@playwright/test"
import { connectPeer, startServer } from "../../fixtures/node-server.ts"
test("x", async () => {
  const server = await startServer({ limits: { statementMs: 500 } })
  const [stuck, other] = [await connectPeer(server), await connectPeer(server)]
  const t0 = Date.now()
  const a = stuck.exec("SELECT instr(zeroblob(50000000), CAST(zeroblob(25000000) || x'01' AS BLOB))").then((x) => console.log(Date.now() - t0, x))
  await new Promise((r) => setTimeout(r, 3000))
  await Promise.race([other.ping().then((x) => console.log(Date.now() - t0, x)), new Promise((r) => setTimeout(r, 15000))])
  console.log(server.lines)
})
