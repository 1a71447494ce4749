import { expose } from "comlink"
import { WorkerControl } from "./worker-control.ts"

expose(new WorkerControl())
