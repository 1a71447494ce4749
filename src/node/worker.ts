import { randomBytes } from "node:crypto"
import { readFileSync } from "node:fs"
import { parentPort, workerData } from "node:worker_threads"
import { Heartbeat } from "../link/heartbeat.ts"
import { Service } from "../server/service.ts"
import { loadEngine } from "../sqlite/load.ts"
import { DiskDumpStorage } from "./disk-dumps.ts"
import type { FromWorker, ToWorker, WorkerData } from "./messages.ts"
import { TunnelLink } from "./tunnel-link.ts"

/** Streams of a socket stop above `high` and go on below `low`, so a slow reader costs this much and not its result. */
const outbound = { high: 1024 * 1024, low: 256 * 1024 }

if (!parentPort) throw new Error("this module is a worker of agentdb-web/node")
const main = parentPort
const post = (message: FromWorker) => main.postMessage(message)

const { keys, limits, heartbeat, dumpFolder } = workerData as WorkerData
// Node's MessagePort does what this uses of the browser's.
const beats = new Heartbeat(heartbeat as unknown as globalThis.MessagePort, limits.statementMs)
const storage = new DiskDumpStorage(dumpFolder)
const wasm = readFileSync(new URL("./sqlite3.wasm", import.meta.url))
const engine = await loadEngine({ wasm, storage })
engine.onBusy = (_ranMs, limitMs) => beats.busy(limitMs)
const service = await Service.open({ engine, storage, keys, limits })

main.on("message", async (message: ToWorker) => {
  switch (message.kind) {
    case "socket":
      service.accept(new TunnelLink(message.port, outbound, "at once"))
      break
    case "twirp": {
      const { call, request, origin } = message
      const response = await service.twirp(request, async (file, { expiresAt }) =>
        publish(file, { call, expiresAt, origin }),
      )
      post({ kind: "answer", call, response })
      break
    }
    case "stop":
      await service.close()
      await storage.close()
      post({ kind: "stopped" })
  }
})
post({ kind: "started" })

/** The main thread serves the file: a download goes on whatever the worker does. The path is the permission. */
function publish(file: Blob, { call, expiresAt, origin }: { call: number; expiresAt: number; origin: string }): string {
  const path = `/dumps/${randomBytes(24).toString("base64url")}.sqlite`
  post({ kind: "dump", call, path, file: storage.pathOf(file), expiresAt })
  return origin + path
}
