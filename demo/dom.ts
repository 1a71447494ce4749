type Listener = (event: Event) => void
type Child = Node | string | number | undefined | false

/** Attributes by name; a function listens to the event after `on`; `false` and `undefined` leave out. */
type Props = Record<string, string | number | boolean | Listener | undefined>

/** An element. Strings become text nodes, so nothing that a database holds is ever read as markup. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === false) continue
    if (typeof value === "function") element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value === true ? "" : String(value))
  }
  fill(element, ...children)
  return element
}

/** Replaces what is in `parent`. */
export function fill(parent: Element, ...children: Child[]): void {
  const nodes: (Node | string)[] = []
  for (const child of children) {
    if (child === undefined || child === false) continue
    nodes.push(child instanceof Node ? child : String(child))
  }
  parent.replaceChildren(...nodes)
}

/** The element of index.html with that id. */
export function byId(id: string): HTMLElement {
  const element = document.getElementById(id)
  if (!element) throw new Error(`index.html has no #${id}`)
  return element
}

/** Calls `paint` at most once a frame, however often it is asked. */
export function perFrame(paint: () => void): () => void {
  let asked = false
  return () => {
    if (asked) return
    asked = true
    requestAnimationFrame(() => {
      asked = false
      paint()
    })
  }
}
