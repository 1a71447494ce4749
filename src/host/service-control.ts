import { CloseCode } from "../link/link.ts"
import { PortLink } from "../link/port-link.ts"
import type { Dump, HeldDump, Publish } from "../server/dumps.ts"
import type { Created, CreateOptions, ListOptions, Page, Restored } from "../server/management.ts"
import type { Service } from "../server/service.ts"
import type { TwirpRequest, TwirpResponse } from "../server/twirp.ts"
import type { RawFile } from "../storage/storage.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { borrowing, type OnProgress, type Outcome, outcome, type RestoreFile, type ServiceCalls } from "./control.ts"
import type { Owners } from "./owners.ts"
import { readUrl } from "./read-url.ts"

/** Between two messages about a copy that is being made. */
const progressMs = 100

/** A look at a URL costs 0.5 to 3 ms. */
const readMs = 50

/** What the pages of all tabs reach in a worker. */
export interface Core {
  readonly owners: Owners
  /** @throws AgentDBError `unavailable` before it has started. */
  readonly service: Service
}

/** The calls that are the same for the page of the worker and for those of other tabs. */
export class ServiceControl implements ServiceCalls {
  readonly #core: Core
  readonly #attached = new Set<string>()

  constructor(core: Core) {
    this.#core = core
  }

  attach(owner: string): Promise<Outcome<void>> {
    return outcome(() => {
      this.#core.owners.attach(owner)
      this.#attached.add(owner)
    })
  }

  release(owner: string): Promise<Outcome<void>> {
    return outcome(() => this.#release(owner))
  }

  /** The page is gone. */
  end(): void {
    for (const owner of this.#attached) this.#release(owner)
  }

  accept(owner: string, port: MessagePort): Promise<Outcome<void>> {
    return outcome(() => {
      const link = new PortLink(port)
      const session = this.#core.service.accept(link)
      this.#core.owners.add(owner, {
        get ended() {
          return link.ended
        },
        end: () => session.close(CloseCode.goingAway, "the handle that opened this socket was closed"),
      })
    })
  }

  watch(owner: string, apiKey: string, databaseId: string, port: MessagePort): Promise<Outcome<void>> {
    return outcome(async () => {
      const unwatch = await this.#core.service.watch(apiKey, databaseId, (tip) => port.postMessage(tip))
      const watch = {
        ended: false,
        end() {
          watch.ended = true
          unwatch()
          port.close()
        },
      }
      port.onmessage = watch.end
      this.#core.owners.add(owner, watch)
    })
  }

  create(apiKey: string, options: CreateOptions): Promise<Outcome<Created>> {
    return outcome(() => this.#core.service.management(apiKey).create(options))
  }

  get(apiKey: string, id: string): Promise<Outcome<DatabaseInfo>> {
    return outcome(() => this.#core.service.management(apiKey).get(id))
  }

  list(apiKey: string, options: ListOptions): Promise<Outcome<Page>> {
    return outcome(() => this.#core.service.management(apiKey).list(options))
  }

  delete(apiKey: string, id: string): Promise<Outcome<void>> {
    return outcome(() => this.#core.service.management(apiKey).delete(id))
  }

  rawFiles(apiKey: string, id: string): Promise<Outcome<RawFile[]>> {
    return outcome(() => this.#core.service.management(apiKey).rawFiles(id))
  }

  dump(apiKey: string, id: string, publish: Publish): Promise<Outcome<Dump>> {
    return outcome(() => borrowing(publish, () => this.#core.service.management(apiKey).dump(id, publish)))
  }

  hold(
    owner: string,
    apiKey: string,
    id: string,
    end: MessagePort,
    onProgress: OnProgress,
  ): Promise<Outcome<HeldDump>> {
    return outcome(() =>
      borrowing(onProgress, async () => {
        const management = this.#core.service.management(apiKey)
        const dump = await management.hold(id, atMostEvery(progressMs, onProgress))
        const hold = {
          ended: false,
          end() {
            if (hold.ended) return
            hold.ended = true
            end.close()
            void management.eraseHeld(id, dump)
          },
        }
        end.onmessage = hold.end
        this.#core.owners.add(owner, hold)
        return dump
      }),
    )
  }

  restore(
    owner: string,
    apiKey: string,
    { file, wal, alive }: RestoreFile,
    options: CreateOptions,
    end: MessagePort,
    onProgress: OnProgress,
  ): Promise<Outcome<Restored>> {
    return outcome(() =>
      borrowing(onProgress, async () => {
        const restore = {
          ended: false,
          end() {
            restore.ended = true
            end.close()
          },
        }
        end.onmessage = restore.end
        this.#core.owners.add(owner, restore)
        const isRevoked = whetherRevoked(alive)
        const isCanceled = (ranMs: number) => restore.ended || isRevoked(ranMs)
        const tell = atMostEvery(progressMs, onProgress)
        try {
          const management = this.#core.service.management(apiKey)
          return await management.restore({ file, wal, onProgress: tell, isCanceled }, options)
        } finally {
          restore.end()
        }
      }),
    )
  }

  twirp(request: TwirpRequest, publish: Publish): Promise<Outcome<TwirpResponse>> {
    return outcome(() => borrowing(publish, () => this.#core.service.twirp(request, publish)))
  }

  #release(owner: string): void {
    this.#attached.delete(owner)
    this.#core.owners.release(owner)
  }
}

/** Looks at a URL from inside the engine, now and then. Where a live one can't be read, a dead one means nothing. */
function whetherRevoked(url: string): (ranMs: number) => boolean {
  const works = readUrl(url)
  let next = readMs
  return (ranMs) => {
    if (!works || ranMs < next) return false
    next = ranMs + readMs
    return !readUrl(url)
  }
}

/** Calls `tell` now and then; always with the last piece. */
function atMostEvery(ms: number, tell: OnProgress): OnProgress {
  let due = 0
  return (doneBytes, totalBytes) => {
    if (performance.now() < due && doneBytes < totalBytes) return
    due = performance.now() + ms
    tell(doneBytes, totalBytes)
  }
}
