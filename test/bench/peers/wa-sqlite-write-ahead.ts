import { overComlink } from "./comlink-peer.ts"

export const open = () =>
  overComlink(new Worker(new URL("./wa-sqlite-write-ahead.worker.ts", import.meta.url), { type: "module" }))
