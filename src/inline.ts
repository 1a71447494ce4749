// The main entry for tools that bundle modules and move no files beside them (esbuild, Rollup): package.json gives it to
// them by the condition "module". The worker, with SQLite inside, is text in the bundle and starts from a `blob:` URL.
import { startWorkersFrom } from "./host/spawn.ts"
import { workerSource } from "./host/worker-source.ts"

startWorkersFrom(workerSource)

export * from "./index.ts"
