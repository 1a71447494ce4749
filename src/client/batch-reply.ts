import { AgentDBError } from "../wire/errors.ts"
import { type Reply, toExecResult, unexpected } from "./answers.ts"
import { Credit } from "./credit.ts"
import type { Answer } from "./frames.ts"
import { objectRows } from "./row-shape.ts"
import type { Socket } from "./socket.ts"
import { after } from "./timers.ts"
import type { BatchResult, ExecResult, RowsResult } from "./types.ts"

/** A whole answer follows its first frame at once; only after this silence is a shorter one considered. */
const silenceMs = 20

/** Collects the results of a batch in memory. */
export class BatchReply implements Reply {
  readonly #results: (ExecResult | RowsResult)[] = []
  #shape: ReturnType<typeof objectRows> | undefined
  readonly #socket: Socket
  readonly #resolve: (result: BatchResult) => void
  readonly #reject: (error: AgentDBError) => void
  #requestId = -1
  #credit: Credit | undefined
  #stopWaiting = () => {}

  constructor(socket: Socket, resolve: (result: BatchResult) => void, reject: (error: AgentDBError) => void) {
    this.#socket = socket
    this.#resolve = resolve
    this.#reject = reject
  }

  /** The request is on its way. */
  sent(requestId: number): void {
    this.#requestId = requestId
    this.#credit = new Credit(this.#socket, requestId)
  }

  accept(answer: Answer): boolean {
    this.#stopWaiting()
    switch (answer.case) {
      case "execResult": {
        const result = toExecResult(answer)
        this.#results.push(result)
        if (this.#results.length === 1) this.#expectMore(result)
        return false
      }
      case "columns": {
        const { names } = answer
        this.#results.push({ columns: names, rows: [] })
        this.#shape = objectRows(names)
        return false
      }
      case "columnBatch": {
        const last = this.#results.at(-1)
        if (!last || !("rows" in last) || !this.#shape) throw unexpected(answer, "batch")
        for (const row of this.#shape(answer.batch)) last.rows.push(row)
        this.#credit?.taken()
        return false
      }
      case "done":
        this.#resolve({ tip: answer.tip, results: this.#results })
        return true
      default:
        throw unexpected(answer, "batch")
    }
  }

  fail(error: AgentDBError): void {
    this.#stopWaiting()
    this.#reject(withStatementIndex(error))
  }

  /**
   * One known server answers a whole batch by one ExecResult and no Done. An ExecResult
   * that is followed by silence, and then by the Pong of a later Ping, was such an answer.
   */
  #expectMore(only: ExecResult): void {
    let silent = true
    const clear = after(silenceMs, async () => {
      if ((await this.#socket.isGone()) || !silent) return
      this.#socket.forget(this.#requestId)
      this.#resolve({ tip: only.tip, results: [only] })
    })
    this.#stopWaiting = () => {
      silent = false
      clear()
    }
  }
}

/** The failure of one of its statements starts with that one's index (proto/README.md, batch). */
function withStatementIndex(error: AgentDBError): AgentDBError {
  const statement = /^statement (\d+): /.exec(error.message)
  if (!statement) return error
  return new AgentDBError(error.code, error.message, { cause: error.cause, statementIndex: Number(statement[1]) })
}
