import type { Rule } from "../rule.ts"
import { batch } from "./batch.ts"
import { cancel, errors } from "./cancel.ts"
import { databases, tip } from "./databases.ts"
import { hello } from "./hello.ts"
import { order } from "./order.ts"
import { query } from "./query.ts"
import { sizes } from "./sizes.ts"
import { sqlSurface } from "./sql-surface.ts"
import { exec, statements } from "./statements.ts"
import { tokens } from "./tokens.ts"
import { transactions } from "./transactions.ts"
import { transport } from "./transport.ts"
import { twirpPlane } from "./twirp.ts"
import { values } from "./values.ts"

/** Every rule, in the order of the protocol's page. */
export const rules: readonly Rule[] = [
  ...[values, transport, hello, order, sizes, statements, exec, query, batch, transactions, cancel],
  ...[errors, tokens, twirpPlane, databases, tip, sqlSurface],
].flat()

/** What each rule is about, without running it. */
export const conformanceRules: readonly { readonly id: string; readonly section: string; readonly sentence: string }[] =
  rules.map(({ id, section, sentence }) => ({ id, section, sentence }))
