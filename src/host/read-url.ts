/**
 * Reads a `blob:` URL from inside a running statement and tells whether it is alive:
 * a revoked one means a cancel. A HEAD would fail on a live one too.
 */
export function readUrl(url: string): boolean {
  const request = new XMLHttpRequest()
  request.open("GET", url, false)
  try {
    request.send()
  } catch {
    return false
  }
  return request.status === 200
}
