import type { Link } from "../link/link.ts"
import { PortLink } from "../link/port-link.ts"
import { SocketLink } from "../link/socket-link.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { ConnectOptions, LinkLike } from "./types.ts"

/** Where the links of a connection come from. */
export interface LinkSource {
  /** False for a ready link: it is used once. */
  readonly endless: boolean
  link(): Promise<Link>
}

/** @throws TypeError for what no link can be made of. */
export function linkSource(from: ConnectOptions["link"]): LinkSource {
  if (typeof from === "function") return { endless: true, link: async () => toLink(await from()) }
  if (typeof from === "string" || from instanceof URL) return { endless: true, link: async () => dial(String(from)) }
  const link = toLink(from)
  return { endless: false, link: async () => link }
}

function dial(url: string): Link {
  if (typeof WebSocket === "undefined") {
    throw new AgentDBError("unimplemented", "this runtime has no WebSocket: pass a link instead of a URL")
  }
  return new SocketLink(new WebSocket(url))
}

/** By shape, since a port or socket may be of another realm or a stand-in. */
function toLink(from: LinkLike): Link {
  if (typeof from === "object" && from !== null) {
    if ("onframe" in from) return from
    if ("readyState" in from) {
      if (from.readyState > 1) throw new AgentDBError("closed", "the WebSocket is closed")
      return new SocketLink(from)
    }
    if ("postMessage" in from) return new PortLink(from)
  }
  throw new TypeError("link: expected a Link, a MessagePort, a WebSocket, a URL or a function that makes one")
}
