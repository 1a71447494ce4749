/**
 * What is aimed at, of the medians of one run. Each is a ratio of two peers, or a bound on one of ours.
 * `ours(work)`, `floor(work)` and `best(work, peers)` read medians; `best` is the lowest among flushed SQLite peers on OPFS.
 * @typedef {{ ours(work: string): number, floor(work: string): number, best(work: string): number, of(peer: string, work: string): number }} Medians
 * @typedef {{ name: string, goal: string, of(medians: Medians): number, met(got: number): boolean }} Goal
 */

const scan = "200,000 rows to objects, fresh page"
const again = "200,000 rows to objects, second time"
const objects = "500,000 x 4 scalars to objects"
const columns = "500,000 x 4 scalars to columns"
const stepping = "500,000 x 4 scalars, stepping only"
const sequential = "400 inserts, one after another"
const pipelined = "1,000 inserts, pipelined"
const point = "point read, median"
const batch = "10,000 rows in a batch"
const ping = "ping of a bare worker, median"

/** @typedef {Goal["of"]} Of */

/** @param {string} name @param {number} bound @param {Of} of @returns {Goal} */
const atMost = (name, bound, of, unit = "x") => ({ name, goal: `<= ${bound}${unit}`, of, met: (got) => got <= bound })

/** @param {string} name @param {number} bound @param {Of} of @returns {Goal} */
const atLeast = (name, bound, of) => ({ name, goal: `>= ${bound}x`, of, met: (got) => got >= bound })

/** @type {readonly Goal[]} */
export const goals = [
  atMost(`${scan}, to exec in the worker`, 0.24, (m) => m.ours(scan) / m.floor(scan)),
  atLeast(`${scan}, best OPFS peer to ours`, 4, (m) => m.best(scan) / m.ours(scan)),
  atLeast(
    `${scan}, sqlite-wasm behind Comlink to ours`,
    6,
    (m) => m.of("sqlite-wasm behind Comlink", scan) / m.ours(scan),
  ),
  atMost(`${again}, to exec in the worker`, 0.19, (m) => m.ours(again) / m.floor(again)),
  atMost(`${objects}, to exec in the worker`, 0.16, (m) => m.ours(objects) / m.floor(objects)),
  atMost(`${columns}, to stepping`, 1.6, (m) => m.ours(columns) / m.floor(stepping)),
  atMost("first row of a scan, warm (ms)", 5, (m) => m.ours("first row of a scan"), ""),
  atMost("longest block of the page in a scan (ms)", 50, (m) => m.ours("longest block of the page"), ""),
  atLeast(`${sequential}, best flushed OPFS peer to ours`, 2.5, (m) => m.best(sequential) / m.ours(sequential)),
  atLeast(`${pipelined}, best flushed OPFS peer to ours`, 12, (m) => m.best(pipelined) / m.ours(pipelined)),
  atMost(`${point}, to the ping of a bare worker`, 1.9, (m) => m.ours(point) / m.floor(ping)),
  atMost(`${batch}, ours to best OPFS peer`, 0.8, (m) => m.ours(batch) / m.best(batch)),
  atMost("reopen to first answer, ours to best OPFS peer", 1, (m) => m.ours("reopen") / m.best("reopen")),
  atMost(
    "growth of all processes, 1,000,000 rows to a slow reader (MiB)",
    64,
    (m) => m.ours("growth while reading slowly, MiB"),
    "",
  ),
]
