import { AgentDBError } from "../wire/errors.ts"
import type { SyncFile } from "./storage.ts"

/** A FileSystemSyncAccessHandle, of which nothing is taken for granted. */
export type RawHandle = { readonly [method in keyof SyncFile]: (...args: Parameters<SyncFile[method]>) => unknown }

/**
 * A handle of the browser, with each of its answers looked at: released browsers have given error numbers as counts,
 * counts that were short, and promises. What can't be is an I/O error and never a success.
 */
export class CheckedFile implements SyncFile {
  readonly #handle: RawHandle

  constructor(handle: RawHandle) {
    this.#handle = handle
  }

  read(into: Uint8Array, options: { at: number }): number {
    const count = this.#handle.read(into, options)
    if (!isCount(count, into.length)) throw ioError("READ", `read answered ${String(count)} for ${into.length} bytes`)
    if (count < into.length && options.at + count < this.getSize()) {
      throw ioError("READ", `read gave ${count} of ${into.length} bytes before the end of the file`)
    }
    return count
  }

  /** Chromium answers a full disk with an error number in place of the count: nothing was written then. */
  write(from: Uint8Array, options: { at: number }): number {
    const count = this.#handle.write(from, options)
    if (typeof count !== "number") throw ioError("WRITE", `write answered ${String(count)}`)
    return isCount(count, from.length) ? count : 0
  }

  truncate(size: number): void {
    assertDone("truncate", this.#handle.truncate(size))
    const found = this.getSize()
    if (found !== size) throw ioError("TRUNCATE", `a file has ${found} bytes after it was given ${size}`)
  }

  getSize(): number {
    const size = this.#handle.getSize()
    if (!isCount(size, Number.MAX_SAFE_INTEGER)) throw ioError("FSTAT", `getSize answered ${String(size)}`)
    return size
  }

  flush(): void {
    assertDone("flush", this.#handle.flush())
  }

  close(): void {
    // What an asynchronous one may fail with has nobody to tell.
    Promise.resolve(this.#handle.close()).catch(() => {})
  }
}

function isCount(value: unknown, most: number): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most
}

/** Before these methods were synchronous they gave promises: what they promise is not done yet. */
function assertDone(method: "truncate" | "flush", answer: unknown): void {
  if (typeof (answer as { then?: unknown } | undefined)?.then !== "function") return
  Promise.resolve(answer).catch(() => {})
  throw ioError(method === "flush" ? "FSYNC" : "TRUNCATE", `${method} is asynchronous in this browser`)
}

const ioError = (kind: string, message: string): AgentDBError => new AgentDBError(`SQLITE_IOERR_${kind}`, message)
