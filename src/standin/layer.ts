type Patchable = Pick<typeof globalThis, "WebSocket" | "fetch">

/** What a patched global knows of itself, for whoever takes it away again. */
interface Layer {
  /** False once it was disposed: from then on it only passes on. */
  active: boolean
  readonly previous: unknown
}

/** Registered, so that two copies of this package take each other's layers away. */
const layerKey = Symbol.for("agentdb-web.standin.layer")

/**
 * Puts what `make` gives over a global. The result takes it back: at once, or, if
 * something else lies over it, as soon as that is a layer that is taken back too.
 * @param make gets what is there now, and whether this layer still counts.
 */
export function patchGlobal<K extends keyof Patchable>(
  name: K,
  make: (previous: Patchable[K], isActive: () => boolean) => Patchable[K],
): () => void {
  const scope: Patchable = globalThis
  const layer: Layer = { active: true, previous: scope[name] }
  const patched = make(scope[name], () => layer.active)
  Object.defineProperty(patched, layerKey, { value: layer })
  scope[name] = patched
  return () => {
    layer.active = false
    for (let top = layerOf(scope[name]); top && !top.active; top = layerOf(scope[name])) {
      scope[name] = top.previous as Patchable[K]
    }
  }
}

/** Own only: a class that extends a patched one inherits its statics, and is somebody's patch over it. */
function layerOf(value: object): Layer | undefined {
  return Object.hasOwn(value, layerKey) ? (value as { [layerKey]?: Layer })[layerKey] : undefined
}
