import { expect, test } from "../../fixtures/browser.ts"

test("a sandboxed iframe of an opaque origin that is handed a port queries, streams, and is cancelled late but never falsely", async ({
  profile,
  site,
}) => {
  test.setTimeout(120_000)
  const page = await profile.open(site.plain)
  const outcome = await page.evaluate(async () => {
    const { mintToken, openAgentDB } = window.agentdbWeb
    const agentdb = await openAgentDB({ storage: "opfs", limits: { statementMs: 6000 } })
    const { databaseId } = await agentdb.createDatabase()
    const frame = document.createElement("iframe")
    frame.sandbox.add("allow-scripts")
    frame.src = "/sandbox.html"
    const loaded = new Promise((resolve) => {
      frame.onload = resolve
    })
    document.body.append(frame)
    await loaded
    const answer = new Promise<Record<string, unknown>>((resolve) => {
      window.addEventListener("message", ({ data }) => resolve(data), { once: true })
    })
    const port = agentdb.port()
    const token = mintToken("devkey", "secret", Math.floor(Date.now() / 1000))
    frame.contentWindow?.postMessage({ port, token, databaseId }, "*", [port])
    return answer
  })
  expect(outcome).toEqual({
    origin: "null",
    rows: 100_000,
    // Runs for longer than a poll of the cancel signal takes to come.
    slow: 1_000_000,
    late: "canceled",
    afterwards: 1,
  })
})
