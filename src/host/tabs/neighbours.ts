import type { Life } from "../life.ts"
import { WorkerLife } from "../worker-life.ts"
import type { Election } from "./election.ts"
import type { Board, Notice } from "./notices.ts"
import { RemoteLife } from "./remote-life.ts"

/** Answers, or passes on, what another tab says about the worker that this page has or uses. */
export function hearNeighbour({ type, term }: Notice & { term: string }, life: Life | undefined, board: Board): void {
  if (life?.term.id !== term) return
  if (type === "alive?" && life instanceof WorkerLife) board.post({ type: "alive", term })
  if (type === "alive" && life instanceof RemoteLife) life.hearPage()
  if (type === "died" && life instanceof RemoteLife) life.hearDeath()
}

/** Another tab looks for the service. The worker answers for itself, but it may be inside a long statement. */
export function answerSeeker(serving: Life | undefined, { locks, board }: Election): void {
  if (!(serving instanceof WorkerLife)) return
  serving.broke(locks)
  board.post({ type: "starting" })
}
