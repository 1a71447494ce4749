import { signToken } from "../wire/jwt.ts"

interface Key {
  readonly apiKey: string
  readonly secret: string
}

/** A good token but for what `claims` say otherwise; undefined leaves a claim away. */
export function tokenOf({ apiKey, secret }: Key, claims: Record<string, unknown> = {}, alg = "HS256"): string {
  const exp = Math.floor(Date.now() / 1000) + 600
  return signToken({ alg, typ: "JWT" }, { iss: apiKey, exp, agent: { databaseAdmin: true }, ...claims }, secret)
}
