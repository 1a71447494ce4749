import { parseUrl } from "./socket-arguments.ts"

type Fetch = typeof globalThis.fetch

/**
 * A `fetch` that asks `serve` first, and passes everything that it does not take
 * to `original` as it came.
 */
export function patchedFetch(
  original: Fetch,
  serve: (url: URL, ...request: Parameters<Fetch>) => Promise<Response> | undefined,
): Fetch {
  return function fetch(this: unknown, ...request: Parameters<Fetch>): Promise<Response> {
    const url = request.length > 0 ? urlOf(request[0]) : undefined
    return (url && serve(url, ...request)) ?? Reflect.apply(original, this, request)
  }
}

/** Undefined for what is for the original to refuse. */
function urlOf(input: RequestInfo | URL): URL | undefined {
  return parseUrl(typeof input === "object" && input !== null && "url" in input ? input.url : input)
}
