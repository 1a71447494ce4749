import type { Stage } from "./stage.ts"
import type { Target } from "./target.ts"

/** One sentence of the protocol, and what shows whether it holds. */
export interface Rule {
  /** Stable: `part.name`. */
  readonly id: string
  /** The heading of proto/README.md that it stands under. */
  readonly section: string
  readonly sentence: string
  /** Why a target cannot show it, if so. */
  readonly unfit: (target: Target) => string | undefined
  /** @throws Deviation where the target does something else. */
  run(stage: Stage): Promise<void>
}

/** Declares the rules of a section, in the order of the page. */
export class Section {
  readonly rules: Rule[] = []
  readonly #section: string

  constructor(section: string) {
    this.#section = section
  }

  rule(id: string, sentence: string, run: Rule["run"], ...needs: readonly Rule["unfit"][]): this {
    const unfit = (target: Target) => {
      for (const need of needs) {
        const why = need(target)
        if (why !== undefined) return why
      }
      return undefined
    }
    this.rules.push({ id, section: this.#section, sentence, unfit, run })
    return this
  }
}
