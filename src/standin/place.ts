import { parseUrl, toSocketUrl } from "./socket-arguments.ts"

/** The addresses that an install answers. */
export interface Place {
  /** The socket's, absolute. */
  readonly socket: string
  isSocket(url: URL): boolean
  isTwirp(url: URL): boolean
  /** The folder of dump downloads, absolute, with a slash at its end. */
  readonly dumps: string
}

/**
 * @param given an http(s) or ws(s) address of the service. A path of a ws(s) one is that of its socket, else `/db`.
 * @throws TypeError for any other address.
 */
export function placeOf(given: string | URL): Place {
  const url = parseUrl(given)
  const hasSocketPath = url?.protocol.startsWith("ws") && url.pathname !== "/"
  const path = url && hasSocketPath ? url.pathname : "/db"
  const socket = url && toSocketUrl(url)
  if (!socket) throw new TypeError(`url: expected an http, https, ws or wss URL, got ${JSON.stringify(String(given))}`)
  const socketOrigin = socket.origin
  const httpOrigin = socketOrigin.replace(/^ws/, "http")
  return {
    socket: socketOrigin + path,
    isSocket: ({ origin, pathname }) => origin === socketOrigin && pathname === path,
    isTwirp: ({ protocol, origin, pathname }) =>
      protocol !== "blob:" && origin === httpOrigin && pathname.startsWith("/twirp/"),
    dumps: `${httpOrigin}/dumps/`,
  }
}
