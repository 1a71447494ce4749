import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import { AgentDBError } from "../wire/errors.ts"

/** An opaque place in a list: everything after the entry of this order. */
export function encodePageToken(order: number): string {
  return base64Encode(new TextEncoder().encode(`after:${order}`), "url")
}

/** @throws AgentDBError `invalid_argument` for what this service did not make. */
export function decodePageToken(token: string): number {
  try {
    const match = /^after:(\d{1,16})$/.exec(new TextDecoder().decode(base64Decode(token)))
    if (match) return Number(match[1])
  } catch {}
  throw new AgentDBError("invalid_argument", "page_token is not one of this service")
}
