import { test } from "@playwright/test"
import { connectPeer, startServer } from "../../fixtures/node-server.ts"
test("x", async () => {
  const server = await startServer({ limits: { statementMs: 500 } })
  const [stuck, other] = [await connectPeer(server), await connectPeer(server)]
  const t0 = Date.now()
  stuck.closed.then((c) => console.log(Date.now() - t0, "stuck closed", c))
  other.closed.then((c) => console.log(Date.now() - t0, "other closed", c))
  const t = setInterval(() => console.log(Date.now() - t0, server.lines.length), 2000)
  const a = await Promise.race([stuck.exec("SELECT instr(zeroblob(50000000), CAST(zeroblob(25000000) || x'01' AS BLOB))"), new Promise((r) => setTimeout(r, 25000))])
  console.log(Date.now() - t0, a)
  clearInterval(t)
  console.log(server.lines)
})
