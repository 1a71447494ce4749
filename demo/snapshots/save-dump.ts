import type { AgentDB } from "agentdb-web"
import { h } from "../dom.ts"

/** Writes a consistent copy and hands it to the browser's downloads, which stream it to disk. @returns its file name */
export async function saveDump(agentdb: AgentDB, databaseId: string): Promise<string> {
  const { downloadUrl, tip } = await agentdb.dumpDatabase(databaseId)
  const name = `${databaseId}-tip${tip}.sqlite`
  h("a", { href: downloadUrl, download: name }).click()
  return name
}
