import type { Frame } from "../wire/frames.ts"
import { Inbox } from "./inbox.ts"
import { type Close, CloseCode, type Link, type SignalNotice } from "./link.ts"

/** What every kind of link shares: the inbox, and an end that happens once. */
export abstract class BaseLink implements Link {
  protected readonly inbox = new Inbox()
  onwritable: Link["onwritable"]
  abstract readonly signals: Link["signals"]
  abstract send(frame: Frame): void
  abstract signal(notice: SignalNotice): void
  /** Tells the peer, then lets the transport go. */
  protected abstract end(close: Close): void

  get writable(): boolean {
    return true
  }

  /** Whether it has closed, by whoever's doing: for whoever keeps a set of links. */
  get ended(): boolean {
    return this.inbox.closed
  }

  get onframe() {
    return this.inbox.onframe
  }
  set onframe(handler) {
    this.inbox.onframe = handler
  }
  get onclose() {
    return this.inbox.onclose
  }
  set onclose(handler) {
    this.inbox.onclose = handler
  }
  get onsignal() {
    return this.inbox.onsignal
  }
  set onsignal(handler) {
    this.inbox.onsignal = handler
  }

  close(code: number = CloseCode.normal, reason = ""): void {
    if (this.inbox.closed) return
    this.inbox.shut()
    this.end({ code, reason })
  }

  /** Ends the link from outside, as if the peer had vanished: for whoever watches the peer's lock. */
  lost(code: number, reason: string): void {
    if (this.inbox.closed) return
    this.inbox.accept({ close: { code, reason, lost: true } })
    this.end({ code, reason })
  }
}
