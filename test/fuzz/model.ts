import type { Cell, Given } from "../fixtures/wire-peer.ts"
import { type Op, refusals } from "./ops.ts"

export type Scope = "auto" | "transaction" | "batch"

/** The content of a database. */
export class State {
  readonly t = new Map<bigint, Cell>()
  readonly p = new Set<bigint>()
  /** Child id to the parent that it names. */
  readonly c = new Map<bigint, bigint>()
  /** Rows of table x; undefined while there is none. */
  x: number | undefined
  version = 0

  clone(): State {
    const copy = new State()
    copy.assign(this)
    return copy
  }

  assign(other: State): void {
    replace(this.t, other.t)
    replace(this.c, other.c)
    this.p.clear()
    for (const id of other.p) this.p.add(id)
    this.x = other.x
    this.version = other.version
  }

  /** No child without its parent. */
  get isSound(): boolean {
    return [...this.c.values()].every((parent) => this.p.has(parent))
  }

  range(lo: number, hi: number): [bigint, Cell][] {
    return [...this.t].filter(([k]) => k >= lo && k <= hi).sort(([a], [b]) => (a < b ? -1 : 1))
  }

  /** The same text for the same content. */
  get text(): string {
    const sorted = <T extends readonly unknown[]>(rows: Iterable<T>) =>
      [...rows].sort((a, b) => Number(a[0]) - Number(b[0]))
    return show([
      sorted(this.t),
      sorted(this.c),
      [...this.p].sort((a, b) => Number(a - b)),
      this.x ?? null,
      this.version,
    ])
  }
}

/** What a statement comes to. */
export interface Outcome {
  readonly error?: string
  /** With the error the engine ended the whole transaction. */
  readonly rollsBack?: true
  readonly rowsAffected: bigint
  readonly lastInsertId: bigint
  readonly columns: readonly string[]
  readonly rows: readonly Cell[][]
  readonly writes: Writes
}

/** Whether the commit appends to the log. "perhaps": rows were written as they were, which the engine may see. */
export type Writes = "yes" | "no" | "perhaps"

const nothing: Outcome = { rowsAffected: 0n, lastInsertId: 0n, columns: [], rows: [], writes: "no" }
const failure = (error: string): Outcome => ({ ...nothing, error })

interface Savepoint {
  readonly name: string
  readonly state: State
}

/** Where statements run one after another: alone, in a transaction or in a batch. */
export class Context {
  readonly state: State
  readonly scope: Scope
  lastRowid = 0n
  #savepoints: Savepoint[] = []

  constructor(state: State, scope: Scope, lastRowid = 0n) {
    this.state = state
    this.scope = scope
    this.lastRowid = lastRowid
  }

  /** Changes the state. A failed statement changes nothing, unless its clause says so. */
  run(op: Op): Outcome {
    const before = this.state.text
    const outcome = this.#run(op)
    return outcome.writes === "yes" && op.op !== "version" && op.op !== "vacuum" && this.state.text === before
      ? { ...outcome, writes: "perhaps" }
      : outcome
  }

  #run(op: Op): Outcome {
    switch (op.op) {
      case "insert":
        return this.#insert(op)
      case "upsert": {
        const isNew = !this.state.t.has(BigInt(op.k))
        this.state.t.set(BigInt(op.k), cellOf(op.v))
        if (isNew) this.lastRowid = BigInt(op.k)
        return { ...nothing, rowsAffected: 1n, lastInsertId: this.lastRowid, writes: "yes" }
      }
      case "update": {
        const rows = this.state.range(op.lo, op.hi).map(([k]): [bigint, Cell] => [k, cellOf(op.v)])
        for (const [k, v] of rows) this.state.t.set(k, v)
        return changed(rows, op.returning)
      }
      case "remove": {
        const rows = this.state.range(op.lo, op.hi)
        for (const [k] of rows) this.state.t.delete(k)
        return changed(rows, op.returning)
      }
      case "create":
        if (this.state.x !== undefined) return op.ifNotExists ? nothing : failure("SQLITE_ERROR")
        this.state.x = 0
        return { ...nothing, writes: "yes" }
      case "drop":
        if (this.state.x === undefined) return failure("SQLITE_ERROR")
        this.state.x = undefined
        return { ...nothing, writes: "yes" }
      case "fill":
        if (this.state.x === undefined) return failure("SQLITE_ERROR")
        this.state.x++
        return this.#inserted(BigInt(this.state.x))
      case "readX":
        if (this.state.x === undefined) return failure("SQLITE_ERROR")
        return answer(
          ["rowid", "a"],
          Array.from({ length: this.state.x }, (_, i) => [BigInt(i + 1), 7n]),
        )
      case "addParent":
        if (this.state.p.has(BigInt(op.id))) return failure("SQLITE_CONSTRAINT_PRIMARYKEY")
        this.state.p.add(BigInt(op.id))
        return this.#inserted(BigInt(op.id))
      case "removeParent":
        return this.#settled(this.state.p.delete(BigInt(op.id)) ? 1 : 0, () => this.state.p.add(BigInt(op.id)))
      case "addChild": {
        const id = nextId(this.state.c.keys())
        this.state.c.set(id, BigInt(op.id))
        if (this.scope === "auto" && !this.state.isSound) {
          this.state.c.delete(id)
          return failure("SQLITE_CONSTRAINT_FOREIGNKEY")
        }
        return this.#inserted(id)
      }
      case "removeChild": {
        const ids = [...this.state.c].filter(([, parent]) => parent === BigInt(op.id)).map(([id]) => id)
        for (const id of ids) this.state.c.delete(id)
        return { ...nothing, rowsAffected: BigInt(ids.length), writes: ids.length > 0 ? "yes" : "no" }
      }
      case "savepoint":
      case "release":
      case "rollbackTo":
        return this.scope === "transaction" ? this.#savepoint(op.op, op.name) : failure("failed_precondition")
      case "version":
        this.state.version = op.n
        return { ...nothing, writes: "yes" }
      case "readVersion":
        return answer(["user_version"], [[BigInt(this.state.version)]])
      case "vacuum":
        return this.scope === "auto" ? { ...nothing, writes: "yes" } : failure("SQLITE_ERROR")
      case "lastRowid":
        if (this.scope === "auto") return failure("failed_precondition")
        return answer(["last_insert_rowid()"], [[this.lastRowid]])
      case "select":
        return answer(["k", "v"], this.state.range(op.lo, op.hi))
      case "count":
        return answer(
          ["i"],
          Array.from({ length: op.n }, (_, i) => [BigInt(i + 1)]),
        )
      case "refused":
        return failure(refusals[op.sql] as string)
    }
  }

  #insert({ clause, rows, returning }: Extract<Op, { op: "insert" }>): Outcome {
    const before = this.state.clone()
    const made: [bigint, Cell][] = []
    for (const [given, v] of rows) {
      const k = given === null ? nextId(this.state.t.keys()) : BigInt(given)
      if (this.state.t.has(k) && clause !== "OR REPLACE") {
        if (clause === "OR IGNORE") continue
        if (clause !== "OR FAIL") this.state.assign(before)
        const writes = clause === "OR FAIL" && made.length > 0 ? "yes" : "no"
        const rollsBack = clause === "OR ROLLBACK" && { rollsBack: true as const }
        return { ...nothing, error: "SQLITE_CONSTRAINT_PRIMARYKEY", writes, ...rollsBack }
      }
      this.state.t.set(k, cellOf(v))
      this.lastRowid = k
      made.push([k, cellOf(v)])
    }
    return { ...changed(made, returning), lastInsertId: made.length > 0 ? this.lastRowid : 0n }
  }

  #inserted(rowid: bigint): Outcome {
    this.lastRowid = rowid
    return { ...nothing, rowsAffected: 1n, lastInsertId: rowid, writes: "yes" }
  }

  /** Outside a transaction a statement that leaves a child without parent is undone. */
  #settled(count: number, undo: () => void): Outcome {
    if (this.scope === "auto" && !this.state.isSound) {
      undo()
      return failure("SQLITE_CONSTRAINT_FOREIGNKEY")
    }
    return { ...nothing, rowsAffected: BigInt(count), writes: count > 0 ? "yes" : "no" }
  }

  #savepoint(op: "savepoint" | "release" | "rollbackTo", name: string): Outcome {
    if (op === "savepoint") {
      this.#savepoints.push({ name, state: this.state.clone() })
      return nothing
    }
    const index = this.#savepoints.findLastIndex((savepoint) => savepoint.name === name)
    const savepoint = this.#savepoints[index]
    if (!savepoint) return failure("SQLITE_ERROR")
    if (op === "rollbackTo") this.state.assign(savepoint.state)
    this.#savepoints = this.#savepoints.slice(0, op === "release" ? index : index + 1)
    return nothing
  }
}

const answer = (columns: string[], rows: Cell[][]): Outcome => ({ ...nothing, columns, rows })

function changed(rows: [bigint, Cell][], returning: boolean): Outcome {
  const shown = returning ? { columns: ["k", "v"], rows } : {}
  return { ...nothing, rowsAffected: BigInt(rows.length), writes: rows.length > 0 ? "yes" : "no", ...shown }
}

function nextId(ids: Iterable<bigint>): bigint {
  let highest: bigint | undefined
  for (const id of ids) if (highest === undefined || id > highest) highest = id
  return highest === undefined ? 1n : highest + 1n
}

/** A parameter as it comes back. */
function cellOf(given: Given): Cell {
  return typeof given === "boolean" ? BigInt(given) : given
}

function replace<K, V>(target: Map<K, V>, source: Map<K, V>): void {
  target.clear()
  for (const [key, value] of source) target.set(key, value)
}

/** Any value as text, bigints and bytes included. */
export function show(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return `${part}n`
    if (part instanceof Uint8Array) return `bytes ${[...part].join(" ")}`
    return part
  })
}
