import { dispose } from "../client/dispose.ts"
import { AgentDBError } from "../client/index.ts"
import type { AgentDB } from "../host/agentdb.ts"
import { createWebSocket } from "./create-web-socket.ts"
import { DumpDownloads } from "./dump-downloads.ts"
import { patchGlobal } from "./layer.ts"
import { patchedFetch } from "./patched-fetch.ts"
import { patchedWebSocket } from "./patched-web-socket.ts"
import { placeOf } from "./place.ts"

export interface InstallOptions {
  readonly agentdb: AgentDB
  /**
   * Where the unmodified client believes its service to be, http(s) or ws(s).
   * Sockets to `/db` of that origin (or to the path of a ws(s) URL) and requests
   * below `/twirp/` go to `agentdb`; so do the download URLs of its dumps.
   */
  readonly url: string | URL
}

/**
 * Patches the global `WebSocket` and `fetch` of this page or worker, so that a
 * client that knows nothing of this package is served by `agentdb`. Any other
 * URL goes to the originals untouched.
 *
 * Disposing restores the globals, or, where somebody else patched over them,
 * leaves that in place and only passes on. Sockets that are open stay so.
 * @throws TypeError for a `url` that is none.
 */
export function install({ agentdb, url }: InstallOptions): Disposable {
  const place = placeOf(url)
  const downloads = new DumpDownloads(place.dumps)
  const standIn = createWebSocket(agentdb)
  const restore = [
    patchGlobal("WebSocket", (original, isActive) =>
      patchedWebSocket(original, standIn, (socket) => isActive() && place.isSocket(socket)),
    ),
    patchGlobal("fetch", (original, isActive) =>
      patchedFetch(original, (target, ...request) => {
        if (!isActive()) return undefined
        if (place.isTwirp(target)) return asNetwork(agentdb.fetchPublishing(downloads.publish, ...request), request)
        if (downloads.has(target)) return Promise.resolve().then(() => downloads.answer(new Request(...request)))
        return undefined
      }),
    ),
  ]
  return {
    [dispose]() {
      for (const undo of restore) undo()
    },
  }
}

/** A service that can't be reached is what fetch knows as a network error, and tells by a TypeError. */
async function asNetwork(answer: Promise<Response>, [input, init]: Parameters<typeof fetch>): Promise<Response> {
  try {
    return await answer
  } catch (error) {
    const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    // The reason of an abort is the caller's, whatever it is.
    if (signal?.aborted || !(error instanceof AgentDBError)) throw error
    throw new TypeError(`Failed to fetch: ${error.message}`, { cause: error })
  }
}
