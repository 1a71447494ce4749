import type { TwirpRequest, TwirpResponse } from "../server/twirp.ts"

/**
 * A `fetch` whose every request goes to the Twirp plane through `send`, whatever its
 * origin and path. Rejects as fetch does: with a TypeError for a request that can't be
 * made and with the signal's reason when it is aborted (the service may have acted by then).
 */
export async function fetchTwirp(
  send: (request: TwirpRequest) => Promise<TwirpResponse>,
  input: RequestInfo | URL,
  init?: RequestInit,
): Promise<Response> {
  const request = new Request(input, init)
  request.signal.throwIfAborted()
  const body = new Uint8Array(await request.arrayBuffer())
  const { method, url, headers } = request
  const answer = await untilAborted(request.signal, () => send({ method, url, headers: [...headers], body }))
  return new Response(answer.body as BodyInit, { status: answer.status, headers: answer.headers })
}

function untilAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    signal.addEventListener("abort", abort, { once: true })
    work()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener("abort", abort))
  })
}
