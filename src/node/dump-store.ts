/** Timers beyond 24.8 days fire at once: look at the clock at least hourly. */
const longestTimerMs = 3_600_000

interface Dump {
  readonly file: Blob
  /** Unix seconds. */
  readonly expiresAt: number
  timer: ReturnType<typeof setTimeout> | undefined
}

const leftMs = ({ expiresAt }: Dump) => expiresAt * 1_000 - Date.now()
const isDue = (dump: Dump) => leftMs(dump) <= 0

/** Finished dumps by their paths, until they expire. */
export class DumpStore {
  readonly #dumps = new Map<string, Dump>()

  /** @param expiresAt Unix seconds. */
  add(path: string, file: Blob, expiresAt: number): void {
    const dump: Dump = { file, expiresAt, timer: undefined }
    const dropWhenDue = () => {
      if (isDue(dump)) this.#dumps.delete(path)
      else dump.timer = setTimeout(dropWhenDue, Math.min(leftMs(dump), longestTimerMs)).unref()
    }
    this.#dumps.set(path, dump)
    dropWhenDue()
  }

  get(path: string): Blob | undefined {
    const dump = this.#dumps.get(path)
    // A timer may come late, after a sleep of the machine.
    return dump && !isDue(dump) ? dump.file : undefined
  }

  clear(): void {
    for (const { timer } of this.#dumps.values()) clearTimeout(timer)
    this.#dumps.clear()
  }
}

const sliceBytes = 1024 * 1024

/** The content in slices, each read when it is asked for. */
export async function* slicesOf(file: Blob): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < file.size; at += sliceBytes) {
    yield new Uint8Array(await file.slice(at, at + sliceBytes).arrayBuffer())
  }
}
