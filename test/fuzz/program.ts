import fc from "fast-check"
import { anyOp, batchOp } from "./ops.ts"
import type { Work } from "./request-record.ts"

/** Sockets a program has at most. */
export const sockets = 3

/** What clients, and those around them, do. `which` picks among what there is, if anything. */
export type Action =
  | { readonly do: "request"; readonly socket: number; readonly work: Work }
  | { readonly do: "credit"; readonly socket: number; readonly which: number; readonly batches: number }
  | { readonly do: "cancel"; readonly socket: number; readonly which: number }
  | { readonly do: "close"; readonly socket: number }
  | { readonly do: "settle" }
  | { readonly do: "advance"; readonly ms: number }
  | { readonly do: "delete" | "dump" | "restart" }

export interface Program {
  readonly initialCredit: number
  readonly batchBytes: number
  readonly rings: boolean
  readonly actions: readonly Action[]
}

const socket = fc.nat(sockets - 1)

const work: fc.Arbitrary<Work> = fc.oneof(
  { weight: 7, arbitrary: anyOp.map((op) => ({ kind: "exec", op }) as const) },
  { weight: 7, arbitrary: anyOp.map((op) => ({ kind: "query", op }) as const) },
  { weight: 3, arbitrary: fc.array(batchOp, { maxLength: 4 }).map((ops) => ({ kind: "batch", ops }) as const) },
  { weight: 3, arbitrary: fc.constant({ kind: "begin" } as const) },
  { weight: 2, arbitrary: fc.constant({ kind: "commit" } as const) },
  { weight: 1, arbitrary: fc.constant({ kind: "rollback" } as const) },
)

const request: fc.Arbitrary<Action> = fc.record({ do: fc.constant("request" as const), socket, work })

const clientAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 24, arbitrary: request },
  {
    weight: 4,
    arbitrary: fc
      .tuple(socket, fc.nat(5), fc.constantFrom(0, 1, 2, 7, 0xffff_ffff))
      .map(([socket, which, batches]) => ({ do: "credit", socket, which, batches }) as const),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(socket, fc.nat(5)).map(([socket, which]) => ({ do: "cancel", socket, which }) as const),
  },
  { weight: 1, arbitrary: socket.map((socket) => ({ do: "close", socket }) as const) },
  { weight: 6, arbitrary: fc.constant({ do: "settle" } as const) },
)

const anyAction: fc.Arbitrary<Action> = fc.oneof(
  { weight: 37, arbitrary: clientAction },
  {
    weight: 2,
    // Short of every limit, beyond the wait for the turn, beyond idleness, and beyond everything.
    arbitrary: fc.constantFrom(100, 1_500, 4_500, 12_000, 40_000).map((ms) => ({ do: "advance", ms }) as const),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Action[]>({ do: "dump" }, { do: "dump" }, { do: "delete" }, { do: "restart" }),
  },
)

/** A whole transaction of one socket; what others do may come in between. */
const transaction: fc.Arbitrary<Action[]> = fc
  .record({
    socket,
    inside: fc.array(
      fc.oneof(
        {
          weight: 4,
          arbitrary: fc.tuple(fc.constantFrom("exec", "query"), anyOp).map(([kind, op]) => ({ kind, op }) as Work),
        },
        { weight: 1, arbitrary: fc.array(batchOp, { maxLength: 3 }).map((ops) => ({ kind: "batch", ops }) as const) },
      ),
      { maxLength: 6 },
    ),
    end: fc.constantFrom<Work[]>({ kind: "commit" }, { kind: "commit" }, { kind: "rollback" }),
    between: fc.option(fc.nat(7)),
    other: request,
  })
  .map(({ socket, inside, end, between, other }) => {
    const works: Work[] = [{ kind: "begin" }, ...inside, end]
    const actions: Action[] = works.map((work) => ({ do: "request", socket, work }))
    if (between !== null) actions.splice(between, 0, other)
    return actions
  })

const actionsOf = (action: fc.Arbitrary<Action>, maxLength: number): fc.Arbitrary<Action[]> =>
  fc
    .array(
      fc.oneof({ weight: 12, arbitrary: action.map((action) => [action]) }, { weight: 1, arbitrary: transaction }),
      {
        maxLength,
        size: "max",
      },
    )
    .map((phrases) => phrases.flat())

const settings = {
  initialCredit: fc.integer({ min: 1, max: 4 }),
  batchBytes: fc.constantFrom(1, 1, 200),
  rings: fc.boolean(),
}

export const anyProgram: fc.Arbitrary<Program> = fc.record({
  ...settings,
  actions: actionsOf(anyAction, 45),
})

/** Programs of clients alone, for stories in which the power goes: now and then there is rest enough for a checkpoint. */
export const clientProgram: fc.Arbitrary<Program> = fc.record({
  ...settings,
  actions: actionsOf(
    fc.oneof(
      { weight: 15, arbitrary: clientAction },
      { weight: 1, arbitrary: fc.constant({ do: "advance", ms: 1_500 } as const) },
    ),
    30,
  ),
})
