/** Where the package has the worker: `worker.ts` in one file, with sqlite3.wasm beside it. */
export const workerUrl = new URL("./worker.js", import.meta.url)
