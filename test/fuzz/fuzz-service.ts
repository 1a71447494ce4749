import type { BaseLink } from "../../src/link/base-link.ts"
import { createLinkPair } from "../../src/link/memory-link.ts"
import type { ReadUrl } from "../../src/server/cancel-signals.ts"
import { Service } from "../../src/server/service.ts"
import type { Engine } from "../../src/sqlite/engine.ts"
import type { Storage } from "../../src/storage/storage.ts"
import { mintToken } from "../../src/wire/jwt.ts"
import type { Limits } from "../../src/wire/limits.ts"
import { HandClock } from "./hand-clock.ts"
import { Monitor } from "./monitor.ts"
import { Finding } from "./runs.ts"

/** The client's end of a socket that is watched at the server's end. */
export interface Watched {
  readonly link: BaseLink
  readonly monitor: Monitor
}

/** A service whose time a test owns and whose every socket is watched. */
export class FuzzService {
  readonly service: Service
  readonly clock: HandClock
  readonly monitors: Monitor[] = []

  private constructor(service: Service, clock: HandClock) {
    this.service = service
    this.clock = clock
  }

  static async start(
    engine: Engine,
    storage: Storage,
    limits: Partial<Limits>,
    readUrl?: ReadUrl,
  ): Promise<FuzzService> {
    const clock = new HandClock()
    return new FuzzService(await Service.open({ engine, storage, limits, clock, readUrl }), clock)
  }

  get management() {
    return this.service.management("devkey")
  }

  token(): string {
    return mintToken("devkey", "secret", Math.floor(this.clock.now() / 1000), 10 * 86_400)
  }

  socket(): Watched {
    const [link, theirs] = createLinkPair()
    const monitor = new Monitor(this.service.limits)
    const send = theirs.send.bind(theirs)
    const close = theirs.close.bind(theirs)
    theirs.send = (frame) => {
      monitor.sent(frame)
      send(frame)
    }
    theirs.close = (code, reason) => {
      monitor.close(code ?? 1000, reason ?? "")
      close(code, reason)
    }
    this.service.accept(theirs)
    const receive = theirs.onframe
    theirs.onframe = (frame) => monitor.received(frame, () => receive?.(frame))
    const gone = theirs.onclose
    theirs.onclose = (reason) => {
      monitor.close(reason.code, reason.reason)
      gone?.(reason)
    }
    this.monitors.push(monitor)
    return { link, monitor }
  }

  /** Throws the first rule that a socket broke. */
  checkMonitors(): void {
    for (const { violations } of this.monitors) if (violations[0] !== undefined) throw new Finding(violations[0])
  }
}
