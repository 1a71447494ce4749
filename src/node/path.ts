/** Where a server's sockets are. */
export const socketPath = "/db"

/** The path of a request, whatever its query; an address that cannot be read is no path of ours. */
export function pathOf(url = "/"): string {
  return URL.canParse(url, "http://localhost") ? new URL(url, "http://localhost").pathname : ""
}
