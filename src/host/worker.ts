import { expose } from "comlink"
import { runBroker } from "./tabs/broker.ts"
import { WorkerControl } from "./worker-control.ts"

// One file for both, since bundlers find one.
const scope = globalThis as unknown as Parameters<typeof runBroker>[0]
if ("SharedWorkerGlobalScope" in globalThis) runBroker(scope)
else expose(new WorkerControl())
