import { Heartbeat } from "../link/heartbeat.ts"
import { CloseCode } from "../link/link.ts"
import { PortLink } from "../link/port-link.ts"
import type { Dump, HeldDump, Publish } from "../server/dumps.ts"
import type { Created, CreateOptions, ListOptions, Page } from "../server/management.ts"
import type { Service } from "../server/service.ts"
import type { TwirpRequest, TwirpResponse } from "../server/twirp.ts"
import type { DatabaseInfo } from "../wire/database-info.ts"
import { AgentDBError } from "../wire/errors.ts"
import {
  borrowing,
  type Control,
  type OnProgress,
  type Outcome,
  outcome,
  type Started,
  type StartOptions,
} from "./control.ts"
import { Owners } from "./owners.ts"
import { type RunningService, startService } from "./start-service.ts"

/** Between two messages about a copy that is being made. */
const progressMs = 100

/** The control plane inside the worker, over the one service that it runs. */
export class WorkerControl implements Control {
  readonly #owners = new Owners()
  #running: RunningService | undefined

  start(options: StartOptions, heartbeat: MessagePort): Promise<Outcome<Started>> {
    return outcome(async () => {
      const beats = new Heartbeat(heartbeat, options.limits.statementMs)
      this.#running = await startService(options, (allowMs) => beats.busy(allowMs))
      return this.#running.started
    })
  }

  attach(owner: string, lock: string | undefined): Promise<Outcome<void>> {
    return outcome(() => this.#owners.attach(owner, lock))
  }

  release(owner: string): Promise<Outcome<void>> {
    return outcome(() => this.#owners.release(owner))
  }

  accept(owner: string, port: MessagePort): Promise<Outcome<void>> {
    return outcome(() => {
      const link = new PortLink(port)
      const session = this.#service.accept(link)
      this.#owners.add(owner, {
        get ended() {
          return link.ended
        },
        end: () => session.close(CloseCode.goingAway, "the handle that opened this socket was closed"),
      })
    })
  }

  watch(owner: string, apiKey: string, databaseId: string, port: MessagePort): Promise<Outcome<void>> {
    return outcome(async () => {
      const unwatch = await this.#service.watch(apiKey, databaseId, (tip) => port.postMessage(tip))
      const watch = {
        ended: false,
        end() {
          watch.ended = true
          unwatch()
          port.close()
        },
      }
      port.onmessage = watch.end
      this.#owners.add(owner, watch)
    })
  }

  create(apiKey: string, options: CreateOptions): Promise<Outcome<Created>> {
    return outcome(() => this.#service.management(apiKey).create(options))
  }

  get(apiKey: string, id: string): Promise<Outcome<DatabaseInfo>> {
    return outcome(() => this.#service.management(apiKey).get(id))
  }

  list(apiKey: string, options: ListOptions): Promise<Outcome<Page>> {
    return outcome(() => this.#service.management(apiKey).list(options))
  }

  delete(apiKey: string, id: string): Promise<Outcome<void>> {
    return outcome(() => this.#service.management(apiKey).delete(id))
  }

  dump(apiKey: string, id: string, publish: Publish): Promise<Outcome<Dump>> {
    return outcome(() => borrowing(publish, () => this.#service.management(apiKey).dump(id, publish)))
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
        const management = this.#service.management(apiKey)
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
        this.#owners.add(owner, hold)
        return dump
      }),
    )
  }

  twirp(request: TwirpRequest, publish: Publish): Promise<Outcome<TwirpResponse>> {
    return outcome(() => borrowing(publish, () => this.#service.twirp(request, publish)))
  }

  close(): Promise<Outcome<void>> {
    return outcome(async () => {
      await this.#running?.stop()
    })
  }

  get #service(): Service {
    if (!this.#running) throw new AgentDBError("unavailable", "the service has not started")
    return this.#running.service
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
