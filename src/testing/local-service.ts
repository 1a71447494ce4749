import type { Link } from "../link/link.ts"

/** A service in this process or page, as what stands in front of it reaches it. */
export interface LocalService {
  /** A fresh Wire socket. Rejects with an AgentDBError if there is no service to have it. */
  openLink(): Promise<Link>
  /** The Twirp plane and downloads of dumps. */
  fetch(request: Request): Promise<Response>
  close(): Promise<void>
}
