const { addEventListener, removeEventListener } = EventTarget.prototype

/** The value of an `on…` attribute: one listener, which keeps its place while its handler is replaced. */
export class EventHandler {
  readonly #target: EventTarget
  readonly #type: string
  #handler: object | null = null

  constructor(target: EventTarget, type: string) {
    this.#target = target
    this.#type = type
  }

  get value(): object | null {
    return this.#handler
  }

  /** What is no object counts as null; an object that can't be called is kept, and does nothing. */
  set value(given: unknown) {
    const handler = (typeof given === "object" || typeof given === "function") && given ? given : null
    const before = this.#handler
    this.#handler = handler
    // By the platform's own methods: a subclass may have others.
    if (!handler) removeEventListener.call(this.#target, this.#type, this.#listener)
    else if (!before) addEventListener.call(this.#target, this.#type, this.#listener)
  }

  readonly #listener = (event: Event): void => {
    if (typeof this.#handler === "function") Reflect.apply(this.#handler, this.#target, [event])
  }
}
