import { h } from "./dom.ts"

export interface Failure {
  /** The service's stable code; the error's name for what isn't the service's. */
  readonly code: string
  readonly message: string
}

export function failureOf(error: unknown): Failure {
  if (typeof error !== "object" || error === null) return { code: "unknown", message: String(error) }
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown }
  const shown = typeof code === "string" && code !== "" ? code : typeof name === "string" ? name : "unknown"
  return { code: shown, message: typeof message === "string" && message !== "" ? message : "no reason given" }
}

/** Code and message, side by side, announced to screen readers. */
export function failureNote(error: unknown, ...actions: HTMLElement[]): HTMLElement {
  const { code, message } = failureOf(error)
  return h("div", { class: "failure", role: "alert" }, h("code", {}, code), h("span", {}, message), ...actions)
}
