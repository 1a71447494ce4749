import { batches } from "./cases/batches.ts"
import { credit } from "./cases/credit.ts"
import { errors } from "./cases/errors.ts"
import { leaving } from "./cases/leaving.ts"
import { lifecycle } from "./cases/lifecycle.ts"
import { limits } from "./cases/limits.ts"
import { outerHandle } from "./cases/outer-handle.ts"
import { reconnecting } from "./cases/reconnecting.ts"
import { results } from "./cases/results.ts"
import { sizes } from "./cases/sizes.ts"
import { stopping } from "./cases/stopping.ts"
import { streams } from "./cases/streams.ts"
import { templates } from "./cases/templates.ts"
import { text } from "./cases/text.ts"
import { transactions } from "./cases/transactions.ts"
import { values } from "./cases/values.ts"
import type { Group } from "./context.ts"

/** What a client of any make of link can rely on. */
export const suite: readonly Group[] = [
  values,
  results,
  streams,
  credit,
  leaving,
  stopping,
  batches,
  transactions,
  outerHandle,
  lifecycle,
  reconnecting,
  errors,
  sizes,
  templates,
  text,
  limits,
]
