import { wrap } from "comlink"
import type { Floor } from "./peers/floor.worker.ts"
import { columns, fill, fillScalars, scalarColumns } from "./table.ts"
import { type Figures, median, type Sizes } from "./works.ts"

const start = async () => {
  const worker = new Worker(new URL("./peers/floor.worker.ts", import.meta.url), { type: "module" })
  const floor = wrap<Floor>(worker)
  await floor.open()
  return floor
}

export async function writeFloor(sizes: Sizes): Promise<Figures> {
  const floor = await start()
  for (const sql of [
    `CREATE TABLE scanned${columns("sqlite")}`,
    fill("sqlite", "scanned", sizes.scanRows),
    `CREATE TABLE scalars${scalarColumns}`,
    fillScalars(sizes.scalarRows),
  ])
    await floor.exec(sql, [])
  return { "ping of a bare worker, median": await ping() }
}

export async function readFloor(sizes: Sizes): Promise<Figures> {
  const floor = await start()
  const n = sizes.scanRows.toLocaleString("en")
  const m = sizes.scalarRows.toLocaleString("en")
  await floor.objects("SELECT * FROM scanned LIMIT 200")
  const all = `SELECT * FROM scanned LIMIT ${sizes.scanRows}`
  return {
    [`${n} rows to objects, fresh page`]: (await floor.objects(all)).ms,
    [`${n} rows to objects, second time`]: (await floor.objects(all)).ms,
    "8,000 rows to objects": (await floor.objects("SELECT * FROM scanned LIMIT 8000")).ms,
    [`${m} x 4 scalars to objects`]: (await floor.objects("SELECT * FROM scalars")).ms,
    [`${m} x 4 scalars, stepping only`]: (await floor.steps("SELECT * FROM scalars")).ms,
    [`${n} rows, stepping only`]: (await floor.steps(all)).ms,
  }
}

async function ping(): Promise<number> {
  const worker = new Worker(new URL("./ping.worker.ts", import.meta.url), { type: "module" })
  const times: number[] = []
  for (let i = 0; i < 1000; i++) {
    const start = performance.now()
    await new Promise((resolve) => {
      worker.onmessage = resolve
      worker.postMessage(i)
    })
    times.push(performance.now() - start)
  }
  worker.terminate()
  return median(times)
}
