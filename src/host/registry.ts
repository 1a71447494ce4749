import type { Supervisor } from "./supervisor.ts"

interface Shared {
  readonly supervisor: Supervisor
  leases: number
  /** Set by the last release: its files are let go when it settles. */
  closing?: Promise<void>
}

/** A share in the one service of a name in this page. */
export interface Lease {
  readonly supervisor: Supervisor
  /** Idempotent. The last one closes the service and waits for it. */
  release(): Promise<void>
}

/** One for all copies of this module: hot reload loads another one beside the first. */
const place = Symbol.for("agentdb-web.services.2")

function services(): Map<string, Shared> {
  const realm = globalThis as { [place]?: Map<string, Shared> }
  realm[place] ??= new Map()
  return realm[place]
}

/** A share in the service `name`, made by `make` if this page has none. It need not be up yet. */
export async function lease(name: string, make: () => Supervisor): Promise<Lease> {
  const all = services()
  let shared = all.get(name)
  while (shared?.closing) {
    await shared.closing.catch(() => {})
    shared = all.get(name)
  }
  if (!shared) {
    shared = { supervisor: make(), leases: 0 }
    all.set(name, shared)
  }
  return share(all, name, shared)
}

function share(all: Map<string, Shared>, name: string, shared: Shared): Lease {
  shared.leases++
  let released: Promise<void> | undefined
  const release = async () => {
    if (--shared.leases > 0) return
    shared.closing = shared.supervisor.close().finally(() => all.delete(name))
    await shared.closing
  }
  return {
    supervisor: shared.supervisor,
    release() {
      released ??= release()
      return released
    },
  }
}
