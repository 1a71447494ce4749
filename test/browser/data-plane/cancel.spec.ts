import { expect, test } from "../../fixtures/browser.ts"

/** Aborts a statement; the full form makes 50. */
const rounds = Number(process.env["AGENTDB_CANCEL_ROUNDS"] ?? 5)

const runaway = {
  "a runaway recursive CTE":
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c WHERE x < 0",
  "a long aggregate":
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c LIMIT 1000000000) SELECT sum(x) FROM c",
}

for (const origin of ["plain", "isolated"] as const) {
  for (const [name, sql] of Object.entries(runaway)) {
    test(`${name} is cancelled by its signal, alone, on a ${origin} origin`, async ({ profile, site }) => {
      test.setTimeout(60_000 + rounds * 3000)
      const page = await profile.open(site[origin])
      expect(await page.evaluate(() => crossOriginIsolated)).toBe(origin === "isolated")
      const latencies = await page.evaluate(
        async ({ sql, rounds }) => {
          const agentdb = await window.agentdbWeb.openAgentDB({ storage: "opfs" })
          const { databaseId } = await agentdb.createDatabase()
          const [db, other] = [await agentdb.connect(databaseId), await agentdb.connect(databaseId)]
          await db.exec("CREATE TABLE t(x)")
          await db.exec(
            "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 5000) INSERT INTO t SELECT i FROM c",
          )
          const latencies: number[] = []
          for (let i = 0; i < rounds; i++) {
            const abort = new AbortController()
            const target =
              i % 2 === 0
                ? db.query(sql, [], { signal: abort.signal }).all()
                : db.exec(sql, [], { signal: abort.signal })
            // Others of the same socket and of another one are in flight; they must never be the victims.
            const bystanders = [db, other].map((one) => one.query("SELECT x FROM t").all())
            let abortedAt = 0
            setTimeout(() => {
              abortedAt = performance.now()
              abort.abort()
            }, Math.random() * 500)
            const error = await Promise.resolve(target).then(
              () => undefined,
              (error: unknown) => error,
            )
            if ((error as { code?: string })?.code !== "canceled") throw new Error(`round ${i}: ${String(error)}`)
            // The client lets go at once; the worker has let go when it answers anyone again.
            await db.query("SELECT 1").all()
            latencies.push(performance.now() - abortedAt)
            for (const bystander of bystanders) {
              const { length } = await bystander
              if (length !== 5000) throw new Error(`a bystander got ${length} rows`)
            }
          }
          return latencies
        },
        { sql, rounds },
      )
      latencies.sort((a, b) => a - b)
      const median = latencies[Math.floor(latencies.length / 2)] ?? 0
      console.log(
        `${name}, ${origin}: ${latencies.length} cancels, until the next answer: ` +
          `median ${median.toFixed(0)} ms, worst ${latencies.at(-1)?.toFixed(0)} ms`,
      )
      expect(latencies.length).toBe(rounds)
    })
  }
}
