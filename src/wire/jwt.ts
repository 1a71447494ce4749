import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { AgentDBError } from "./errors.ts"

/*
 * HS256 tokens in plain JavaScript: WebCrypto is missing on plain-http origins,
 * where tokens must still be made and checked, and one way is easier to trust than two.
 */

const leewaySeconds = 60
const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true })

/** API key to secret. */
export type Keys = Readonly<Record<string, string>>

/** The keys of a service that was given none: for local use only. */
export const developmentKeys: Keys = { devkey: "secret" }

/**
 * A token with the grant that opens both planes.
 * @param now Unix seconds.
 */
export function mintToken(apiKey: string, secret: string, now: number, ttlSeconds = 3600): string {
  const claims = { iss: apiKey, nbf: now, exp: now + ttlSeconds, agent: { databaseAdmin: true } }
  return signToken({ alg: "HS256", typ: "JWT" }, claims, secret)
}

/** A token of any header and claims, always signed with HS256. */
export function signToken(header: object, claims: object, secret: string): string {
  const part = (value: object) => base64Encode(encoder.encode(JSON.stringify(value)), "url")
  const signed = `${part(header)}.${part(claims)}`
  return `${signed}.${base64Encode(sign(signed, secret), "url")}`
}

/**
 * The API key that a valid token was signed with; its project is the caller's.
 * @param now Unix seconds.
 * @throws AgentDBError `unauthenticated`, with a message that says what is wrong but never repeats the token.
 */
export function verifyToken(token: string, keys: Keys, now: number): string {
  if (token === "") refuse("the token is missing")
  const [head, body, signature, ...rest] = token.split(".")
  if (head === undefined || body === undefined || signature === undefined || rest.length > 0) {
    refuse("the token is malformed")
  }
  if (parse(head).alg !== "HS256") refuse("the token is not signed with HS256")
  const claims = parse(body)
  const apiKey = claims.iss
  if (typeof apiKey !== "string" || !Object.hasOwn(keys, apiKey)) refuse("the token's API key is unknown")
  if (!equal(decode(signature), sign(`${head}.${body}`, keys[apiKey] as string))) {
    refuse("the token's signature is wrong")
  }
  // JSON has numbers beyond all of JavaScript's: a token that never ends is none.
  if (!Number.isFinite(claims.exp)) refuse("the token has no expiry")
  if ((claims.exp as number) + leewaySeconds <= now) refuse("the token has expired")
  if (claims.nbf !== undefined && !(typeof claims.nbf === "number" && claims.nbf - leewaySeconds <= now)) {
    refuse("the token is not valid yet")
  }
  const grant = claims.agent
  const granted =
    typeof grant === "object" && grant !== null && "databaseAdmin" in grant && grant.databaseAdmin === true
  if (!granted) refuse("the token lacks the grant agent.databaseAdmin")
  return apiKey
}

function refuse(why: string): never {
  throw new AgentDBError("unauthenticated", why)
}

function sign(signed: string, secret: string): Uint8Array {
  return hmac(sha256, encoder.encode(secret), encoder.encode(signed))
}

function decode(part: string): Uint8Array {
  try {
    return base64Decode(part)
  } catch {
    refuse("the token is malformed")
  }
}

function parse(part: string): Record<string, unknown> {
  const bytes = decode(part)
  try {
    const value: unknown = JSON.parse(decoder.decode(bytes))
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>
  } catch {}
  refuse("the token is malformed")
}

/** In time that does not depend on where the bytes differ. */
function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  let difference = 0
  for (let i = 0; i < a.length; i++) difference |= (a[i] as number) ^ (b[i] as number)
  return difference === 0
}
