/** Time as the server sees it; a test may own it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Calls `task` once after `ms`; the returned function takes it back. */
  after(ms: number, task: () => void): () => void
}

/** Timers beyond 24.8 days fire at once, so longer waits are taken in steps. */
const longestTimer = 3_600_000

export const systemClock: Clock = {
  now: () => Date.now(),
  after(ms, task) {
    let timer: ReturnType<typeof setTimeout>
    const arm = (left: number) => {
      const step = Math.min(left, longestTimer)
      timer = setTimeout(() => (left > step ? arm(left - step) : task()), step)
      // In Node a waiting timer must not hold the process open.
      if (typeof timer === "object") timer.unref()
    }
    arm(Math.max(0, ms))
    return () => clearTimeout(timer)
  },
}

/**
 * Calls `task` once after `ms` in which the worker could read what came: a timer that fires late tells of a worker
 * that was busy or asleep, whose queue is read first. The returned function takes it back.
 */
export function afterQuiet(clock: Clock, ms: number, task: () => void): () => void {
  const armedAt = clock.now()
  let disarm = clock.after(ms, () => {
    if (clock.now() - armedAt > 2 * ms) disarm = afterQuiet(clock, ms, task)
    else task()
  })
  return () => disarm()
}

export const unixSeconds = (clock: Clock): number => Math.floor(clock.now() / 1000)
