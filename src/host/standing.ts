import type { AgentDBError } from "../wire/errors.ts"
import type { Life } from "./life.ts"

/** How a page stands to the service of a name. */
export type Standing =
  /** No service; the next one who needs it looks for it. */
  | { readonly kind: "idle" }
  /** Waits for the name, or for word of who has it. */
  | { readonly kind: "seeking" }
  | { readonly kind: "starting"; readonly life: Life }
  | { readonly kind: "serving"; readonly life: Life }
  /** The page is frozen, put away or leaving. */
  | { readonly kind: "away" }
  /** The files are gone. Nothing takes their place while anybody has a handle here. */
  | { readonly kind: "lost"; readonly error: AgentDBError }
  | { readonly kind: "closed" }

/** The worker that starts or serves. */
export function lifeOf(standing: Standing): Life | undefined {
  return "life" in standing ? standing.life : undefined
}

/** Whether the page takes part in nothing, until it is back or for good. */
export function isOut({ kind }: Standing): boolean {
  return kind === "away" || kind === "lost" || kind === "closed"
}
