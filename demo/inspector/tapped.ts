import type { AgentDB } from "agentdb-web"
import { mintToken } from "agentdb-web"
import { type Connection, connect } from "agentdb-web/client"
import type { FrameLog } from "./frame-log.ts"
import { recordingLink } from "./recording-link.ts"

/** Connects to databases of the service with the log on every socket that the connection opens. */
export function tapped(agentdb: AgentDB, log: FrameLog, owner: string): (databaseId: string) => Promise<Connection> {
  return (databaseId) =>
    connect({
      // A factory, so that the connection can open another: after a loss, or for a transaction.
      link: async () => recordingLink(await agentdb.openLink(), log.tap(owner)),
      databaseId,
      // The service runs with its default keys; a real one would have its tokens made elsewhere.
      token: () => mintToken("devkey", "secret", Math.floor(Date.now() / 1000)),
    })
}
