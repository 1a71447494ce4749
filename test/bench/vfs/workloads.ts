/** The few calls that every workload needs, whoever makes them. */
export interface Bench {
  run(sql: string): void
  /** Steps through all rows without reading them and returns their count. */
  scan(sql: string): number
  /** Returns once what was committed before is durable. */
  commit(sql: string): void
  close(): void
}

/** Milliseconds by workload, in one worker on a new database. */
export function measure(open: Bench, openMs: number): Record<string, number> {
  const times: Record<string, number> = { "open a database": openMs }
  const time = (name: string, work: () => void) => {
    const start = performance.now()
    work()
    times[name] = performance.now() - start
  }
  open.run("CREATE TABLE t(id INTEGER PRIMARY KEY, role TEXT, content TEXT)")
  time("500 durable one-row commits", () => {
    for (let i = 0; i < 500; i++)
      open.commit(`INSERT INTO t(role, content) VALUES('user', 'message number ${i} of a few')`)
  })
  time("insert 100,000 rows in one transaction", () =>
    open.commit(
      "INSERT INTO t(role, content) WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM c LIMIT 100000) SELECT 'user', printf('message %d %.100c', i, 'x') FROM c",
    ),
  )
  time("step through 100,500 rows", () => {
    const rows = open.scan("SELECT id, role, content FROM t")
    if (rows !== 100_500) throw new Error(`${rows} rows`)
  })
  time("2,000 point reads", () => {
    for (let i = 1; i <= 2000; i++) open.scan(`SELECT content FROM t WHERE id = ${i * 50}`)
  })
  time("build an index", () => open.commit("CREATE INDEX i ON t(content, role)"))
  open.close()
  return times
}
