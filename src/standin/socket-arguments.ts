/** Relative addresses are the page's, or the worker script's. */
const baseUrl = (): string | undefined => globalThis.document?.baseURI ?? globalThis.location?.href

const schemes: Record<string, string> = { "ws:": "ws:", "wss:": "wss:", "http:": "ws:", "https:": "wss:" }

/** What separates tokens in a header (RFC 9110, 5.6.2), so that none may hold it. */
const separators = '"(),/:;<=>?@[\\]{}'

/** `given`, in whatever form a caller has it, as an absolute URL; undefined if it is none. */
export function parseUrl(given: unknown): URL | undefined {
  try {
    return new URL(given as string, baseUrl())
  } catch {
    return undefined
  }
}

/** The address of the socket at `url`: http and https become ws and wss; undefined for any other scheme. */
export function toSocketUrl(url: URL): URL | undefined {
  const scheme = schemes[url.protocol]
  // Setting `protocol` keeps everything else, and drops a port that is the scheme's own.
  if (scheme && scheme !== url.protocol) url.protocol = scheme
  return scheme ? url : undefined
}

/** @throws DOMException `SyntaxError` for what no socket can be opened to (WebSockets Standard, "constructor steps"). */
export function socketUrl(given: string): URL {
  const url = parseUrl(given)
  if (!url) throw refused(`The URL '${given}' is invalid.`)
  const socket = toSocketUrl(url)
  if (!socket) {
    const scheme = url.protocol.slice(0, -1)
    throw refused(`The URL's scheme must be either 'http', 'https', 'ws', or 'wss'. '${scheme}' is not allowed.`)
  }
  // An empty fragment counts, and only the text still shows it.
  if (socket.href.includes("#")) {
    throw refused(`The URL contains a fragment identifier ('${socket.hash.slice(1)}'). None is allowed.`)
  }
  return socket
}

/** @throws DOMException `SyntaxError` for subprotocols that are no tokens or not distinct. */
export function subprotocols(given: unknown): string[] {
  const protocols = given === undefined ? [] : isSequence(given) ? Array.from(given, asString) : [asString(given)]
  for (const [index, protocol] of protocols.entries()) {
    if (!isToken(protocol)) throw refused(`The subprotocol '${protocol}' is invalid.`)
    if (protocols.indexOf(protocol) < index) throw refused(`The subprotocol '${protocol}' is duplicated.`)
  }
  return protocols
}

/** As WebIDL converts: a symbol throws a TypeError. */
export const asString = (value: unknown): string => `${value}`

function isSequence(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.iterator in value
}

function isToken(text: string): boolean {
  return /^[\x21-\x7e]+$/.test(text) && ![...text].some((character) => separators.includes(character))
}

const refused = (why: string) => new DOMException(`Failed to construct 'WebSocket': ${why}`, "SyntaxError")
