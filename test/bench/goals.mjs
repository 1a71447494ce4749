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

/** @param {number} bound */
const atMost = (bound) => (/** @type {number} */ got) => got <= bound
/** @param {number} bound */
const atLeast = (bound) => (/** @type {number} */ got) => got >= bound

/** @type {readonly Goal[]} */
export const goals = [
  {
    name: `${scan}, to exec in the worker`,
    goal: "<= 0.24x",
    of: (m) => m.ours(scan) / m.floor(scan),
    met: atMost(0.24),
  },
  {
    name: `${scan}, best OPFS peer to ours`,
    goal: ">= 4x",
    of: (m) => m.best(scan) / m.ours(scan),
    met: atLeast(4),
  },
  {
    name: `${scan}, sqlite-wasm behind Comlink to ours`,
    goal: ">= 6x",
    of: (m) => m.of("sqlite-wasm behind Comlink", scan) / m.ours(scan),
    met: atLeast(6),
  },
  {
    name: `${again}, to exec in the worker`,
    goal: "<= 0.19x",
    of: (m) => m.ours(again) / m.floor(again),
    met: atMost(0.19),
  },
  {
    name: `${objects}, to exec in the worker`,
    goal: "<= 0.16x",
    of: (m) => m.ours(objects) / m.floor(objects),
    met: atMost(0.16),
  },
  {
    name: `${columns}, to stepping`,
    goal: "<= 1.6x",
    of: (m) => m.ours(columns) / m.floor(stepping),
    met: atMost(1.6),
  },
  { name: "first row of a scan, warm (ms)", goal: "<= 5", of: (m) => m.ours("first row of a scan"), met: atMost(5) },
  {
    name: "longest block of the page in a scan (ms)",
    goal: "<= 50",
    of: (m) => m.ours("longest block of the page"),
    met: atMost(50),
  },
  {
    name: `${sequential}, best flushed OPFS peer to ours`,
    goal: ">= 2.5x",
    of: (m) => m.best(sequential) / m.ours(sequential),
    met: atLeast(2.5),
  },
  {
    name: `${pipelined}, best flushed OPFS peer to ours`,
    goal: ">= 12x",
    of: (m) => m.best(pipelined) / m.ours(pipelined),
    met: atLeast(12),
  },
  {
    name: `${point}, to the ping of a bare worker`,
    goal: "<= 1.9x",
    of: (m) => m.ours(point) / m.floor(ping),
    met: atMost(1.9),
  },
  {
    name: `${batch}, ours to best OPFS peer`,
    goal: "<= 0.8x",
    of: (m) => m.ours(batch) / m.best(batch),
    met: atMost(0.8),
  },
  {
    name: "reopen to first answer, ours to best OPFS peer",
    goal: "<= 1x",
    of: (m) => m.ours("reopen") / m.best("reopen"),
    met: atMost(1),
  },
  {
    name: "growth of all processes, 1,000,000 rows to a slow reader (MiB)",
    goal: "<= 64",
    of: (m) => m.ours("growth while reading slowly, MiB"),
    met: atMost(64),
  },
]
