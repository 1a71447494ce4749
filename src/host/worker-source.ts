/** The bundled worker with the wasm inside, as JavaScript; the build puts it here. */
export const workerSource: string = ""
