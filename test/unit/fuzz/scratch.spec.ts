import { expect, test } from "@playwright/test"
import { TestService, token } from "../../fixtures/service.ts"
import { settle } from "../../fixtures/wire-peer.ts"

test("or fail", async () => {
  test.setTimeout(5000)
  await using at = await TestService.start()
  const a = await at.connect()
  await a.exec("CREATE TABLE t(k INTEGER PRIMARY KEY)")
  console.log(await a.exec("INSERT OR FAIL INTO t VALUES(1),(1)"))
  console.log((await a.query("SELECT * FROM t")))
})
test("semicolons", async () => {
  await using at = await TestService.start()
  const a = await at.connect()
  for (const [p, tail] of [["SELECT 1", ";"], ["SELECT 1", " ;"], ["SELECT 1;", "/**/;"], ["SELECT 1;", "--\n"], ["", ";"], ["", "/**/;"]] as const) {
    for (const n of [10_000, 20_000, 40_000]) {
    const s = performance.now()
    const r = await a.query(p + tail.repeat(n))
    console.log(JSON.stringify(p+tail), n, Math.round(performance.now() - s), r.error?.message ?? r.rows.length)
    }
  }
})
for (const [name, pair] of [["unknown", [0xf8, 0x7f, 1]], ["params", [0x12, 0]], ["statements", [0x0a, 0]]] as const)
test("amplify " + name, async () => {
  test.setTimeout(100000)
  await using at = await TestService.start()
  const a = await at.connect()
  const n = Math.floor((16 * 1024 * 1024 - 20) / pair.length)
  const inner = new Uint8Array(n * pair.length)
  for (let i = 0; i < inner.length; i++) inner[i] = pair[i % pair.length] as number
  const field = name === "statements" ? 5 : 3
  const head = [0x08, 99, (field << 3) | 2]
  let len = inner.length
  const v: number[] = []
  while (len > 127) { v.push((len & 127) | 128); len >>>= 7 }
  v.push(len)
  const frame = new Uint8Array(head.length + v.length + inner.length)
  frame.set([...head, ...v]); frame.set(inner, head.length + v.length)
  const before = process.memoryUsage()
  const s = performance.now()
  a.link.send(frame)
  let peak = 0
  await a.ping()
  peak = process.memoryUsage().heapUsed - before.heapUsed
  console.log(name, "ms", Math.round(performance.now() - s), "MB", Math.round(peak / 1e6), a.log.slice(1))
})
test("pong before hello", async () => {
  await using at = await TestService.start()
  const p = at.socket()
  const h = p.hello(token(), "DB_nope")
  void p.ping()
  await h
  await p.closed
  console.log(p.log.map((x) => x.body.case))
})
test("time per start", async () => {
  for (let i = 0; i < 3; i++) { const s = performance.now(); await using at = await TestService.start(); const a = await at.connect(); console.log("start", performance.now() - s); const q = performance.now(); for (let j = 0; j < 300; j++) await a.ping(); console.log("300 pings", performance.now() - q)}
  void expect; void settle
})
