import type { ColumnBatch } from "../wire/column-batch.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Value } from "../wire/values.ts"
import { type Reply, unexpected } from "./answers.ts"
import { atSite } from "./call-site.ts"
import { Credit } from "./credit.ts"
import { asyncDispose } from "./dispose.ts"
import type { Answer, Body } from "./frames.ts"
import { arrayRows, objectRows, type RowShape } from "./row-shape.ts"
import type { Socket } from "./socket.ts"
import type { Stop } from "./stop.ts"
import type { Batch, QueryOptions, Row, RowStream } from "./types.ts"

interface Done {
  tip: number
  totalRows: number
}

/** Runs the stream's request to its end, over as many sockets as that takes. */
export type RunQuery = (
  send: (socket: Socket) => Promise<Done>,
  stop: Stop,
  mayRepeat: (code: string) => boolean,
) => Promise<Done>

/** A promise with its ends, whose rejection need not be handled. */
function deferred<T>() {
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  promise.catch(() => {})
  return { promise, resolve, reject }
}

type State =
  | { at: "idle" }
  | { at: "running" }
  | { at: "done" }
  /** Batches that came before the error are read first, unless the reader left. */
  | { at: "failed"; error: unknown }

export class QueryStream implements RowStream<Row | Value[]> {
  #state: State = { at: "idle" }
  readonly #run: RunQuery
  readonly #body: () => Body
  readonly #options: QueryOptions
  readonly #newStop: () => Stop
  #stop: Stop | undefined
  readonly #site: Error
  readonly #mayRepeat: (code: string) => boolean
  readonly #columns = deferred<string[]>()
  readonly #done = deferred<Done>()
  #names: string[] | undefined
  #shape: RowShape | undefined
  #queue: ColumnBatch[] = []
  #credit: Credit | undefined
  /** Something of the result is in the reader's hands, so it can't be asked for again. */
  #yielded = false
  #claimed = false
  /** What all() has so far: not yet in its caller's hands, so a repeated query starts it anew. */
  #gathered: (Row | Value[])[] | undefined
  #wake = () => {}

  /** @param body throws what is wrong with the arguments; `site` is where the query was asked for. */
  constructor(
    run: RunQuery,
    body: () => Body,
    isReadOnly: () => boolean,
    newStop: () => Stop,
    options: QueryOptions,
    site: Error,
  ) {
    this.#run = run
    this.#body = body
    // `unavailable` was not executed; after any other end only what can't write may run twice.
    this.#mayRepeat = (code) => !this.#yielded && (code === "unavailable" || isReadOnly())
    this.#newStop = newStop
    this.#options = options
    this.#site = site
  }

  get done(): Promise<Done> {
    return this.#done.promise
  }

  async columns(): Promise<string[]> {
    this.#start()
    const names = await this.#columns.promise
    this.#yielded = true
    return [...names]
  }

  async all(): Promise<(Row | Value[])[]> {
    this.#claim()
    this.#gathered = []
    for (let rows = await this.#rows(); rows; rows = await this.#rows())
      for (const row of rows) this.#gathered.push(row)
    return this.#gathered
  }

  async first(): Promise<Row | Value[] | undefined> {
    this.#claim()
    let rows = await this.#rows()
    while (rows?.length === 0) rows = await this.#rows()
    this.cancel()
    return rows?.[0]
  }

  async *batches(): AsyncIterable<Batch> {
    this.#claim()
    const { integers, text } = this.#options
    try {
      for (let batch = await this.#take(); batch; batch = await this.#take()) {
        yield {
          rows: batch.rows,
          columns: batch.columns.map((column) => ({
            values: () => column.values({ integers, text }),
            ints: () => column.ints(),
            doubles: () => column.doubles(),
            bytes: () => column.bytes(),
            type: (row) => column.type(row),
          })),
        }
      }
    } finally {
      this.cancel()
    }
  }

  /** By hand, not a generator: a row that is here already costs one promise. */
  [Symbol.asyncIterator](): AsyncIterator<Row | Value[], undefined> {
    let rows: (Row | Value[])[] | undefined = []
    let index = 0
    let refilling: Promise<void> | undefined
    let isFirst = true
    const refill = async () => {
      try {
        if (isFirst) this.#claim()
        isFirst = false
        rows = await this.#rows()
        index = 0
      } finally {
        refilling = undefined
      }
    }
    return {
      next: async () => {
        while (rows && index === rows.length) {
          if (!refilling) refilling = refill()
          await refilling
        }
        return rows ? { done: false, value: rows[index++] as Row | Value[] } : { done: true, value: undefined }
      },
      return: async () => {
        rows = undefined
        this.cancel()
        return { done: true, value: undefined }
      },
    }
  }

  cancel(): void {
    if (this.#state.at === "done" || this.#state.at === "failed") {
      this.#queue = []
      return
    }
    const error = new AgentDBError("canceled", "the stream was left before its end")
    this.#stop?.stop(error)
    this.#queue = []
    this.#fail(error)
  }

  async [asyncDispose](): Promise<void> {
    this.cancel()
  }

  /** One reading a stream: two would each get a part of the rows. */
  #claim(): void {
    if (this.#claimed) throw atSite(new AgentDBError("failed_precondition", "a RowStream can be read once"), this.#site)
    this.#claimed = true
  }

  #start(): void {
    if (this.#state.at !== "idle") return
    this.#state = { at: "running" }
    try {
      const stop = this.#newStop()
      this.#stop = stop
      // A stop drops what waits here at once; the run's own rejection follows.
      stop.onstop((error) => {
        this.#queue = []
        this.#fail(error)
      })
      this.#run((socket) => this.#send(socket, stop), stop, this.#mayRepeat).then(
        (done) => this.#finish(done),
        (error: unknown) => this.#fail(error),
      )
    } catch (error) {
      this.#fail(error)
    }
  }

  #send(socket: Socket, stop: Stop): Promise<Done> {
    this.#names = undefined
    this.#queue = []
    if (this.#gathered) this.#gathered = []
    return new Promise((resolve, reject) => {
      const reply: Reply = { accept: (answer) => this.#accept(answer, resolve), fail: reject }
      const requestId = socket.request(this.#body(), reply)
      this.#credit = new Credit(socket, requestId, this.#options.window)
      stop.onstop((error) => {
        socket.cancel(requestId)
        reject(error)
      })
    })
  }

  #accept(answer: Answer, resolve: (done: Done) => void): boolean {
    if (this.#state.at !== "running") return answer.case === "done"
    switch (answer.case) {
      case "columns": {
        const { names } = answer
        this.#names = names
        const { integers, text } = this.#options
        this.#shape =
          this.#options.rowMode === "array"
            ? arrayRows(names.length, { integers, text })
            : objectRows(names, { integers, text })
        this.#columns.resolve(names)
        return false
      }
      case "columnBatch":
        if (!this.#names) throw unexpected(answer, "query before Columns")
        this.#queue.push(answer.batch)
        this.#wake()
        return false
      case "done": {
        if (!this.#names) throw unexpected(answer, "query before Columns")
        resolve({ tip: answer.tip, totalRows: answer.totalRows })
        return true
      }
      default:
        throw unexpected(answer, "query")
    }
  }

  #finish(done: Done): void {
    if (this.#state.at !== "running") return
    this.#state = { at: "done" }
    this.#stop?.dispose()
    this.#done.resolve(done)
    this.#wake()
  }

  #fail(reason: unknown): void {
    if (this.#state.at === "done" || this.#state.at === "failed") return
    const error = atSite(reason, this.#site)
    this.#state = { at: "failed", error }
    this.#stop?.dispose()
    this.#columns.reject(error)
    this.#done.reject(error)
    this.#wake()
  }

  async #rows(): Promise<(Row | Value[])[] | undefined> {
    const batch = await this.#take()
    if (!batch || !this.#shape) return undefined
    try {
      return this.#shape(batch)
    } catch (error) {
      this.cancel()
      throw error
    }
  }

  /** The next batch, which from here on is the reader's; undefined at the end. */
  async #take(): Promise<ColumnBatch | undefined> {
    this.#start()
    for (;;) {
      const batch = this.#queue.shift()
      if (batch) {
        if (!this.#gathered) this.#yielded = true
        this.#credit?.taken()
        return batch
      }
      if (this.#state.at === "done") return undefined
      if (this.#state.at === "failed") throw this.#state.error
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
