import type { AgentDB, Status } from "agentdb-web"
import { fill, h } from "./dom.ts"
import { failureOf } from "./failure.ts"
import { formatBytes } from "./format.ts"

/** The header's line: where the bytes are, whether they may be evicted, who serves, and how full it is. */
export function showStatus(target: Element, agentdb: AgentDB): void {
  let refusal = ""
  const paint = () => {
    const { status } = agentdb
    fill(
      target,
      fact("storage", storageText(status)),
      persistence(status, refusal, async () => {
        refusal = await askToPersist(agentdb)
        paint()
      }),
      fact("role", status.role),
      usage(status),
      fact("network", navigator.onLine ? "online, not needed" : "offline, not needed"),
    )
  }
  agentdb.addEventListener("statuschange", paint)
  addEventListener("online", paint)
  addEventListener("offline", paint)
  paint()
}

async function askToPersist(agentdb: AgentDB): Promise<string> {
  try {
    return (await agentdb.requestPersistence()) ? "" : "the browser said no"
  } catch (error) {
    return failureOf(error).message
  }
}

function storageText({ storage, reason }: Status): string {
  const kind = storage === "opfs" ? "OPFS, on this disk" : "memory, gone with the page"
  return reason ? `${kind}: ${reason}` : kind
}

function persistence(status: Status, refusal: string, ask: () => void): HTMLElement {
  if (status.persisted) return fact("kept", "persisted")
  if (status.storage === "memory") return fact("kept", "not persisted")
  const button = h("button", { type: "button", class: "link", onclick: ask }, "Ask to persist")
  return fact("kept", refusal ? `not persisted (${refusal})` : "not persisted", button)
}

function usage({ usage, quota }: Status): HTMLElement | undefined {
  if (usage === undefined) return undefined
  if (quota === undefined || quota === 0) return fact("usage", formatBytes(usage))
  const meter = h("meter", { min: 0, max: 1, value: usage / quota, "aria-label": "Share of the quota in use" })
  return fact("usage", `${formatBytes(usage)} of ${formatBytes(quota)}`, meter)
}

function fact(name: string, value: string, extra?: HTMLElement): HTMLElement {
  return h("div", { class: "fact", "data-fact": name }, h("dt", {}, name), h("dd", {}, value, extra))
}
