import { type AgentDB, openAgentDB } from "agentdb-web"
import { AgentPanel } from "./agent/agent-panel.ts"
import { Conversation } from "./agent/conversation.ts"
import { selfCheck } from "./agent/self-check.ts"
import { byId, h } from "./dom.ts"
import { DatabasesPanel } from "./inspector/databases-panel.ts"
import { FrameLog } from "./inspector/frame-log.ts"
import { FramesPanel } from "./inspector/frames-panel.ts"
import { SelectedSocket } from "./inspector/selected-socket.ts"
import { SqlPanel } from "./inspector/sql-panel.ts"
import { tapped } from "./inspector/tapped.ts"
import { SnapshotsPanel } from "./snapshots/snapshots-panel.ts"
import { showStatus } from "./status-line.ts"
import { tabs } from "./tabs.ts"

declare global {
  interface Window {
    /** The open service, for whoever looks from outside. */
    agentdb?: AgentDB
  }
}

const heading = (panel: string) => byId(`${panel}-heading`)
const body = (panel: string) => byId(`${panel}-body`)

async function start(agent: AgentPanel, log: FrameLog): Promise<void> {
  agent.progress("Opening the service…")
  const agentdb = await openAgentDB()
  window.agentdb = agentdb
  showStatus(byId("status"), agentdb)

  agent.progress("Opening the conversation…")
  const conversation = await Conversation.open(agentdb, tapped(agentdb, log, "agent"))
  agent.progress("Checking that it stores and recalls…")
  const boots = await selfCheck(conversation)
  await agent.start(agentdb, conversation, boots)

  const sql = new SqlPanel(heading("sql"), body("sql"), new SelectedSocket(tapped(agentdb, log, "sql")))
  const databases = new DatabasesPanel(heading("databases"), body("databases"), {
    agentdb,
    conversationId: conversation.databaseId,
    onselect: (databaseId) => {
      sql.select(databaseId)
      snapshots.select(databaseId)
    },
  })
  const snapshots = new SnapshotsPanel(heading("snapshots"), body("snapshots"), {
    agentdb,
    onmade: async (databaseId) => {
      await databases.refresh()
      databases.select(databaseId)
    },
  })
  await Promise.all([databases.refresh(), snapshots.refresh()])
  databases.select(conversation.databaseId)
  document.documentElement.dataset["agentdb"] = "ready"
}

function fail(agent: AgentPanel, error: unknown): void {
  document.documentElement.dataset["agentdb"] = "failed"
  const again = h("button", { type: "button", onclick: () => location.reload() }, "Try again")
  agent.fail(error, h("p", {}, "The agent did not start."), again)
}

tabs(byId("tabs"), byId("panels"))
const agent = new AgentPanel(heading("agent"), body("agent"))
const log = new FrameLog()
new FramesPanel(heading("frames"), body("frames"), log)
start(agent, log).catch((error: unknown) => fail(agent, error))
