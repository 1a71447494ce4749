import type { ConformanceOptions } from "agentdb-web/conformance"
import { AgentDBServiceClient } from "../../src/client/index.ts"
import { createLinkPair } from "../../src/link/memory-link.ts"
import type { Limits } from "../../src/wire/limits.ts"
import { TestService } from "../fixtures/service.ts"
import { keys, targetOptions } from "./targets.ts"

export interface RunningTarget extends AsyncDisposable {
  readonly options: ConformanceOptions
}

/** The server core on this thread, over an in-memory link; its Twirp plane by a function. */
export async function memoryTarget(limits: Partial<Limits>): Promise<RunningTarget> {
  const at = await TestService.start(limits, { keys })
  const dumps = new Map<string, Blob>()
  const fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
    const request = new Request(input, init)
    const body = new Uint8Array(await request.arrayBuffer())
    const answer = await at.service.twirp(
      { method: request.method, url: request.url, headers: request.headers, body },
      async (file) => {
        const url = `https://memory.test/dumps/${dumps.size}`
        dumps.set(url, file)
        return url
      },
    )
    return new Response(answer.body, { status: answer.status, headers: answer.headers })
  }
  const url = "https://memory.test"
  const open = () => {
    const [mine, theirs] = createLinkPair()
    at.service.accept(theirs)
    return mine
  }
  return {
    options: {
      ...targetOptions(open, (token) => new AgentDBServiceClient({ url, token, fetch }), limits),
      twirp: { url, fetch },
      download: async (at) => new Uint8Array((await dumps.get(at)?.arrayBuffer()) ?? new ArrayBuffer(0)),
      sameThread: true,
    },
    [Symbol.asyncDispose]: () => at[Symbol.asyncDispose](),
  }
}
