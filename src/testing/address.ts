import { placeOf } from "../standin/place.ts"

/** Where the code under test believes its service to be. */
export interface Address {
  /** Absolute, without a slash at its end: for Twirp clients. */
  readonly url: string
  /** The socket's, absolute. */
  readonly wsUrl: string
  /** Matches the socket's address, whatever its query. */
  readonly sockets: RegExp
  /** Matches calls of the Twirp plane and downloads of dumps. */
  readonly requests: RegExp
}

/**
 * @param given an http(s) or ws(s) address. A path of a ws(s) one is that of its socket, else `/db`.
 * @throws TypeError for any other address.
 */
export function addressOf(given: string | URL): Address {
  const { socket, dumps } = placeOf(given)
  const { origin } = new URL(dumps)
  return {
    url: origin,
    wsUrl: socket,
    sockets: new RegExp(`^${escaped(socket)}(\\?|$)`),
    requests: new RegExp(`^${escaped(origin)}/(twirp|dumps)/`),
  }
}

const escaped = (text: string) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")
