import { overComlink } from "./comlink-peer.ts"

export const open = () =>
  overComlink(new Worker(new URL("./sqlite-wasm.worker.ts", import.meta.url), { type: "module" }))
