/** The longest delay that timers take; a longer one would fire at once. */
export const longestDelay = 0x7fff_ffff

/** Runs `task` once after `ms`. The result takes it back. */
export function after(ms: number, task: () => void): () => void {
  const timer = setTimeout(task, ms)
  return () => clearTimeout(timer)
}

/** Like `after`, but does not hold a Node process open. */
export function afterIdly(ms: number, task: () => void): () => void {
  const timer: unknown = setTimeout(task, ms)
  if (typeof timer === "object" && timer && "unref" in timer && typeof timer.unref === "function") timer.unref()
  return () => clearTimeout(timer as number)
}

/** Milliseconds on a clock that never goes back. */
export const now = (): number => performance.now()
