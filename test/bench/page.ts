import { readFloor, writeFloor } from "./floor.ts"
import type { Peer } from "./peer.ts"
import { type Figures, read, type Sizes, slowly, write } from "./works.ts"

const peers: Record<string, () => Promise<{ open(): Promise<Peer> }>> = {
  "agentdb-web": () => import("./peers/ours.ts"),
  "sqlite-wasm behind Comlink": () => import("./peers/sqlite-wasm-comlink.ts"),
  "wa-sqlite AccessHandlePool": () => import("./peers/wa-sqlite-pool.ts"),
  "wa-sqlite OPFSWriteAhead": () => import("./peers/wa-sqlite-write-ahead.ts"),
  "sqlite-wasm Worker1 promiser": () => import("./peers/sqlite-wasm-promiser.ts"),
  sqlocal: () => import("./peers/sqlocal.ts"),
  "@powersync/web": () => import("./peers/powersync.ts"),
  "sql.js in a worker": () => import("./peers/sql-js.ts"),
  "PGlite worker": () => import("./peers/pglite.ts"),
  "turso database-wasm": () => import("./peers/turso.ts"),
}
const works = { write, read, slowly }

async function run(peer: string, work: keyof typeof works, sizes: Sizes): Promise<Figures> {
  if (peer === "floor") return work === "write" ? writeFloor(sizes) : readFloor(sizes)
  const load = peers[peer]
  if (!load) throw new Error(`no peer ${peer}`)
  // The time of a peer's own script counts nowhere: only what it then does.
  const { open } = await load()
  return works[work](open, sizes)
}

Object.assign(window, { bench: { peers: Object.keys(peers), run } })
