import { PortLink } from "../link/port-link.ts"

/** A port link that tells whether it has ended, for whoever keeps a set of them. */
export class TrackedLink extends PortLink {
  get ended(): boolean {
    return this.inbox.closed
  }
}
