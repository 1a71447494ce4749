import fc from "fast-check"

/** How many times the everyday number of runs: `npm run fuzz` sets it. */
const times = Number(process.env["AGENTDB_FUZZ"] ?? 1)

/**
 * Checks a property; a failure prints the seed, the path and the shrunk counterexample.
 * AGENTDB_SEED and AGENTDB_PATH run that one again.
 * @param runs of the everyday form
 */
export async function check<T>(
  runs: number,
  arbitrary: fc.Arbitrary<T>,
  property: (value: T) => Promise<void>,
): Promise<void> {
  const seed = process.env["AGENTDB_SEED"]
  const path = process.env["AGENTDB_PATH"]
  await fc.assert(fc.asyncProperty(arbitrary, property), {
    numRuns: Math.ceil(runs * times),
    ...(seed !== undefined && { seed: Number(seed) }),
    ...(path !== undefined && { path }),
    // Where it only matters that something fails, how small it can be made does not.
    endOnFailure: process.env["AGENTDB_FUZZ_SHRINK"] === "no",
    // Each try of a shrink is a whole service: enough of them to be short, and no more.
    interruptAfterTimeLimit: 120_000 * Math.max(1, times),
  })
}

/** Time for a test of so many runs, with room for shrinking. */
export const timeFor = (runs: number, msPerRun: number): number => 180_000 + runs * Math.max(1, times) * msPerRun

/** What the service did wrong, as against a failure that the test itself brought about. */
export class Finding extends Error {}

/** Rejects if `promise` takes longer: a hang, which no machine is slow enough for. */
export async function within<T>(what: string, promise: Promise<T>, ms = 20_000): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Finding(`hang: ${what} took more than ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}
