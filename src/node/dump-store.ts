import { closeSync, fstatSync, openSync, read, rmSync } from "node:fs"
import { promisify } from "node:util"

/** Timers beyond 24.8 days fire at once: look at the clock at least hourly. */
const longestTimerMs = 3_600_000

const sliceBytes = 1024 * 1024

/** A finished dump on disk. Its name is gone from the start, so nothing of it is left however this process ends. */
export class DumpFile {
  /** Bytes. */
  readonly size: number
  readonly #fd: number
  /** The store, and each download under way. */
  #users = 1

  /** Takes the file over. */
  constructor(path: string) {
    this.#fd = openSync(path, "r")
    this.size = fstatSync(this.#fd).size
    rmSync(path)
  }

  /** The content in slices, each read when it is asked for; also after `release`, if it began before. */
  async *slices(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    if (this.#users === 0) throw new Error("the dump has expired")
    this.#users++
    try {
      for (let at = 0; at < this.size; ) {
        const slice = new Uint8Array(Math.min(sliceBytes, this.size - at))
        const { bytesRead } = await readAt(this.#fd, slice, 0, slice.length, at)
        if (bytesRead === 0) throw new Error("the file of a dump was cut")
        yield slice.subarray(0, bytesRead)
        at += bytesRead
      }
    } finally {
      this.release()
    }
  }

  /** The file goes with its last user. */
  release(): void {
    if (--this.#users === 0) closeSync(this.#fd)
  }
}

const readAt = promisify(read)

interface Dump {
  readonly file: DumpFile
  /** Unix seconds. */
  readonly expiresAt: number
  timer: ReturnType<typeof setTimeout> | undefined
}

const leftMs = ({ expiresAt }: Dump) => expiresAt * 1_000 - Date.now()
const isDue = (dump: Dump) => leftMs(dump) <= 0

/** Finished dumps by their paths in URLs, until they expire. */
export class DumpStore {
  readonly #dumps = new Map<string, Dump>()

  /** @param file its path on disk; it is taken over. @param expiresAt Unix seconds. */
  add(path: string, file: string, expiresAt: number): void {
    const dump: Dump = { file: new DumpFile(file), expiresAt, timer: undefined }
    const dropWhenDue = () => {
      if (isDue(dump)) this.#drop(path, dump)
      else dump.timer = setTimeout(dropWhenDue, Math.min(leftMs(dump), longestTimerMs)).unref()
    }
    this.#dumps.set(path, dump)
    dropWhenDue()
  }

  get(path: string): DumpFile | undefined {
    const dump = this.#dumps.get(path)
    // A timer may come late, after a sleep of the machine.
    return dump && !isDue(dump) ? dump.file : undefined
  }

  clear(): void {
    for (const [path, dump] of this.#dumps) this.#drop(path, dump)
  }

  #drop(path: string, { file, timer }: Dump): void {
    clearTimeout(timer)
    this.#dumps.delete(path)
    file.release()
  }
}
