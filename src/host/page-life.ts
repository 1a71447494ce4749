/**
 * Tells when this page stops running without being gone, and when it runs again: frozen in the background, or put
 * into the back/forward cache. A page that is left for good hears `away` as well. The function returned ends it.
 */
export function onAway(on: { away(): void; back(): void }): () => void {
  const over = new AbortController()
  const { signal } = over
  // In a worker there is neither.
  globalThis.document?.addEventListener("freeze", on.away, { signal })
  globalThis.document?.addEventListener("resume", on.back, { signal })
  globalThis.window?.addEventListener("pagehide", on.away, { signal })
  globalThis.window?.addEventListener("pageshow", on.back, { signal })
  return () => over.abort()
}
