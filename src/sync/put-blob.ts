import { canceled } from "./online.ts"

export interface PutRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Streamed from disk by the browser. */
  readonly body: Blob
  readonly signal: AbortSignal
  /** No byte for so long counts as a lost connection. */
  readonly stallMs: number
  readonly onProgress: (doneBytes: number) => void
}

export interface PutAnswer {
  readonly status: number
  readonly text: string
  /** Null if there is none, or if the server does not expose it across origins. */
  header(name: string): string | null
}

/** There was no answer: whether the server has the body is not known. */
export class NoAnswer extends Error {}

/**
 * One PUT. Only XMLHttpRequest tells how much of a body is sent; where there is none, such as in Node, it is fetch.
 * @throws NoAnswer; AgentDBError `canceled`
 */
export function putBlob(request: PutRequest): Promise<PutAnswer> {
  if (request.signal.aborted) return Promise.reject(canceled())
  return typeof XMLHttpRequest === "function" ? putByXhr(request) : putByFetch(request)
}

function putByXhr({ url, headers, body, signal, stallMs, onProgress }: PutRequest): Promise<PutAnswer> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest()
    let stall: ReturnType<typeof setTimeout> | undefined
    const isAlive = () => {
      clearTimeout(stall)
      stall = setTimeout(() => fail(new NoAnswer(`nothing moved for ${stallMs} ms`)), stallMs)
    }
    const settle = () => {
      clearTimeout(stall)
      signal.removeEventListener("abort", abort)
    }
    const fail = (error: Error) => {
      settle()
      reject(error)
      xhr.abort()
    }
    const abort = () => fail(canceled())
    xhr.upload.onprogress = ({ loaded }) => {
      isAlive()
      onProgress(loaded)
    }
    xhr.onload = () => {
      settle()
      resolve({ status: xhr.status, text: xhr.responseText, header: (name) => xhr.getResponseHeader(name) })
    }
    xhr.onerror = () => fail(new NoAnswer("the request failed on the network, or the server does not allow it by CORS"))
    signal.addEventListener("abort", abort, { once: true })
    xhr.open("PUT", url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    isAlive()
    xhr.send(body)
  })
}

async function putByFetch({ url, headers, body, signal, onProgress }: PutRequest): Promise<PutAnswer> {
  try {
    const response = await fetch(url, { method: "PUT", headers, body, signal })
    const text = await response.text()
    if (response.ok) onProgress(body.size)
    return { status: response.status, text, header: (name) => response.headers.get(name) }
  } catch (error) {
    if (signal.aborted) throw canceled()
    throw new NoAnswer(error instanceof Error ? error.message : String(error), { cause: error })
  }
}
