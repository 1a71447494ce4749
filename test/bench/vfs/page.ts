const wasmUrl = new URL("../../../node_modules/@sqlite.org/sqlite-wasm/dist/sqlite3.wasm", import.meta.url)

const peers = {
  ours: () => new Worker(new URL("./ours.worker.ts", import.meta.url), { type: "module" }),
  "sahpool, WAL in exclusive mode": () =>
    new Worker(new URL("./sahpool.worker.ts", import.meta.url), { type: "module" }),
  "sahpool, rollback journal": () => new Worker(new URL("./sahpool.worker.ts", import.meta.url), { type: "module" }),
}

/** One round of one peer in a worker of its own. */
async function round(peer: keyof typeof peers): Promise<Record<string, number>> {
  const wasm = await (await fetch(wasmUrl)).arrayBuffer()
  const worker = peers[peer]()
  try {
    return await new Promise((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data)
      worker.onerror = (event) => reject(new Error(event.message))
      worker.postMessage(peer === "ours" ? wasm : { wasm, journal: peer.includes("WAL") ? "wal" : "delete" })
    })
  } finally {
    worker.terminate()
  }
}

Object.assign(window, { vfsBench: { peers: Object.keys(peers), round } })
