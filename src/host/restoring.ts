import { AgentDBError } from "../wire/errors.ts"
import { hangUp } from "./hang-up.ts"

/** A Blob of what a caller gave, whose bytes may be changed at once. */
export function asBlob(file: unknown): Blob {
  if (file instanceof Blob) return file
  // The bytes may be shared memory, which no Blob takes; this copies them.
  if (file instanceof Uint8Array)
    return new Blob([file.buffer instanceof ArrayBuffer ? (file as Uint8Array<ArrayBuffer>) : new Uint8Array(file)])
  throw new AgentDBError("invalid_argument", "the file must be a Blob or a Uint8Array")
}

/**
 * Makes a call that can be canceled: by a message on the port for a worker that reads its messages, and by the end of
 * the URL for one that is inside the engine.
 */
export async function untilAborted<T>(
  signal: AbortSignal | undefined,
  call: (end: MessagePort, alive: string) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw new AgentDBError("canceled", "canceled before it began", { cause: signal.reason })
  const { port1, port2 } = new MessageChannel()
  const alive = URL.createObjectURL(new Blob(["alive"]))
  const abort = () => {
    URL.revokeObjectURL(alive)
    port1.postMessage("end")
  }
  signal?.addEventListener("abort", abort, { once: true })
  try {
    return await call(port2, alive)
  } finally {
    signal?.removeEventListener("abort", abort)
    URL.revokeObjectURL(alive)
    hangUp(port1)
  }
}
