import type { RunContext } from "../sqlite/interrupt.ts"
import type { PreparedStatement } from "../sqlite/statement.ts"
import { ColumnBatchWriter } from "../wire/column-batch-writer.ts"
import { AgentDBError } from "../wire/errors.ts"
import { encodeServerMessage, type Frame } from "../wire/frames.ts"
import type { Limits } from "../wire/limits.ts"

/** How long a statement may step without going back to the event loop. */
const sliceMs = 25

/** A frame of the answer; without one there is nothing left. */
export interface Produced {
  readonly frame?: Frame
  readonly rows: number
  /** True with the last frame, and after it. */
  readonly done: boolean
}

/** Where a stream's rows come from. */
export interface RowSource {
  /** Whether the next frame costs credit: only a ColumnBatch does. */
  readonly costs: boolean
  /** The next frame. Throws AgentDBError where the rows end in an error. */
  produce(): Produced
  /** Frees what it holds; idempotent. */
  close(): void
}

/** Rows straight from a statement. One row always stands ahead, so the last batch is known as such. */
export class CursorSource implements RowSource {
  /** The Columns frame of the rows. */
  readonly columns: Frame
  readonly #requestId: number
  readonly #statement: PreparedStatement
  readonly #run: RunContext
  readonly #limits: Limits
  readonly #onClose: () => void
  readonly #batch: ColumnBatchWriter
  #rowStands: boolean
  #failure: AgentDBError | undefined
  #target: number
  #closed = false

  /**
   * Takes the first step, and with it the snapshot. Owns the statement from here on, also if it throws.
   * @param onClose called once when the statement is finalized.
   */
  constructor(requestId: number, statement: PreparedStatement, run: RunContext, limits: Limits, onClose: () => void) {
    this.#requestId = requestId
    this.#statement = statement
    this.#run = run
    this.#limits = limits
    this.#onClose = onClose
    this.#target = limits.firstBatchBytes
    try {
      this.#rowStands = statement.step(run)
      const names = statement.columnNames()
      this.columns = columnsFrame(requestId, names, limits.maxFrameBytes)
      this.#batch = new ColumnBatchWriter(names.length)
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** After the last row before an error nothing is left but the Error. */
  get costs(): boolean {
    return !this.#failure
  }

  produce(): Produced {
    return this.#fill(sliceMs)
  }

  /** All that is left, as frames of at most `maxBytes` together. Throws `resource_exhausted` above. */
  capture(maxBytes: number): CapturedSource {
    const frames: CapturedFrame[] = []
    let bytes = 0
    for (let done = false; !done; ) {
      const produced = this.#fill(Number.POSITIVE_INFINITY)
      done = produced.done
      if (!produced.frame) continue
      bytes += produced.frame.byteLength
      if (bytes > maxBytes) {
        throw new AgentDBError("resource_exhausted", `the rows to keep exceed ${maxBytes} bytes`)
      }
      frames.push({ frame: produced.frame, rows: produced.rows, costs: true })
    }
    this.close()
    return new CapturedSource(frames)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#statement.finalize()
    this.#onClose()
  }

  #fill(sliceMs: number): Produced {
    if (this.#failure) throw this.#failure
    const batch = this.#batch
    const size = { targetBytes: this.#target, maxFrameBytes: this.#limits.maxFrameBytes, sliceMs }
    try {
      const filled = this.#rowStands ? this.#statement.fill(batch, size, this.#run) : "done"
      this.#rowStands = filled === "full" && this.#statement.advance(this.#run)
    } catch (error) {
      if (batch.rows === 0) throw error
      // The rows before it go out first.
      this.#failure = AgentDBError.from(error)
    }
    const { rows } = batch
    const done = !this.#rowStands && !this.#failure
    if (rows === 0) return { rows, done }
    this.#target = this.#limits.batchBytes
    return { frame: batch.takeFrame(this.#requestId), rows, done }
  }
}

/** @throws AgentDBError `resource_exhausted` if the names, which a join can make any number of, fit no frame. */
function columnsFrame(requestId: number, names: string[], maxFrameBytes: number): Frame {
  const frame = encodeServerMessage(requestId, { case: "columns", value: { names } })
  if (frame.byteLength <= maxFrameBytes) return frame
  throw new AgentDBError("resource_exhausted", `the column names do not fit a frame of ${maxFrameBytes} bytes`)
}

export interface CapturedFrame {
  readonly frame: Frame
  readonly rows: number
  readonly costs: boolean
}

/** An answer that was taken ahead and waits as frames. */
export class CapturedSource implements RowSource {
  readonly #frames: CapturedFrame[]
  /** Bytes that still wait. */
  bytes: number

  constructor(frames: CapturedFrame[]) {
    this.#frames = frames
    this.bytes = frames.reduce((total, { frame }) => total + frame.byteLength, 0)
  }

  get costs(): boolean {
    return this.#frames[0]?.costs ?? false
  }

  produce(): Produced {
    const next = this.#frames.shift()
    if (!next) return { rows: 0, done: true }
    this.bytes -= next.frame.byteLength
    return { frame: next.frame, rows: next.rows, done: this.#frames.length === 0 }
  }

  /** All frames at once; nothing stays. */
  takeAll(): CapturedFrame[] {
    this.bytes = 0
    return this.#frames.splice(0)
  }

  close(): void {
    this.takeAll()
  }
}
