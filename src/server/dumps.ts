import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex } from "@noble/hashes/utils.js"
import { macrotask } from "../link/macrotask.ts"
import type { OnPiece } from "../sqlite/dump.ts"
import type { Storage } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import type { Limits } from "../wire/limits.ts"
import type { Catalog, Entry } from "./catalog.ts"
import { type Clock, unixSeconds } from "./clock.ts"
import { notFound } from "./database-id.ts"

/** Makes a URL of a finished dump, to be revoked at `expiresAt` (Unix seconds). */
export type Publish = (file: Blob, options: { expiresAt: number }) => Promise<string>

export interface Dump {
  readonly downloadUrl: string
  /** Of the URL, Unix seconds. */
  readonly expiresAt: number
  readonly tip: number
}

/** A copy for a push: it lasts until it is erased, or until the next start. */
export interface HeldDump {
  /** On OPFS the File on disk. */
  readonly file: Blob
  readonly name: string
  readonly tip: number
  /** Lowercase hex. */
  readonly sha256: string
}

/** The expiry of a copy that is held: the sweep of the next start finds it expired. */
const held = 0

/** Copies of databases that can be downloaded for a while. */
export class Dumps {
  readonly #catalog: Catalog
  readonly #storage: Storage
  readonly #limits: Limits
  readonly #clock: Clock
  /** Tells the dumps of this run from those that earlier runs left. */
  readonly #run = (crypto.getRandomValues(new Uint32Array(1))[0] as number).toString(36)
  #made = 0

  constructor(catalog: Catalog, storage: Storage, limits: Limits, clock: Clock) {
    this.#catalog = catalog
    this.#storage = storage
    this.#limits = limits
    this.#clock = clock
  }

  /** A copy under a URL. */
  async dump(entry: Entry, publish: Publish): Promise<Dump> {
    const { project, id } = entry
    const expiresAt = unixSeconds(this.#clock) + this.#limits.dumpUrlSeconds
    const { file, name, tip } = await this.#copy(entry, expiresAt)
    this.#eraseAt(expiresAt, project, id, name)
    try {
      return { downloadUrl: await publish(file, { expiresAt }), expiresAt, tip }
    } catch (error) {
      await this.#storage.removeDump(project, id, name).catch(() => {})
      throw error
    }
  }

  /** A copy and its SHA-256, computed while it is made. The caller erases it. */
  async hold(entry: Entry, onProgress: (doneBytes: number, totalBytes: number) => void): Promise<HeldDump> {
    const hash = sha256.create()
    let doneBytes = 0
    const copy = await this.#copy(entry, held, (piece, totalBytes) => {
      hash.update(piece)
      doneBytes += piece.length
      onProgress(doneBytes, totalBytes)
    })
    return { ...copy, sha256: bytesToHex(hash.digest()) }
  }

  /** Erases a copy that was held; if it cannot be now, the sweep of the next start does it. */
  async erase(project: string, id: string, name: string): Promise<void> {
    await this.#storage.removeDump(project, id, name).catch(() => {})
  }

  /** Copies in slices, so that sockets are served meanwhile; memory stays the same whatever the size. */
  async #copy(entry: Entry, expiresAt: number, onPiece?: OnPiece) {
    const { project, id } = entry
    const open = await this.#catalog.retain(entry)
    const unpin = open.pin()
    try {
      const name = `dump-${expiresAt}-${++this.#made}-${this.#run}.sqlite`
      const target = await this.#storage.createDump(project, id, name)
      try {
        // Only what is durable may be told of.
        open.flush()
        if (!open.alive) throw notFound()
        const copy = open.database.dump(target.file, onPiece)
        let step = copy.next()
        while (!step.done) {
          await new Promise<void>(macrotask)
          if (!open.alive) throw new AgentDBError("not_found", "the database was deleted while it was dumped")
          step = copy.next()
        }
        return { file: await target.publish(), name, tip: step.value.tip }
      } catch (error) {
        await target.discard().catch(() => {})
        throw error
      }
    } finally {
      unpin()
      this.#catalog.release(entry)
    }
  }

  /** Erases the expired and the unfinished dumps of earlier runs, and sees to the others at their time. */
  async sweep(): Promise<void> {
    const now = unixSeconds(this.#clock)
    for (const { project, id, name, unfinished } of await this.#storage.dumps()) {
      if (name.endsWith(`-${this.#run}.sqlite`)) continue
      const expiresAt = expiryOf(name)
      if (unfinished || expiresAt <= now) await this.#storage.removeDump(project, id, name)
      else this.#eraseAt(expiresAt, project, id, name)
    }
  }

  #eraseAt(expiresAt: number, project: string, id: string, name: string): void {
    this.#clock.after(expiresAt * 1000 - this.#clock.now(), () => {
      // If it cannot be erased now, the sweep of the next start does it.
      this.#storage.removeDump(project, id, name).catch(() => {})
    })
  }
}

/** Unix seconds; 0, so expired, for a name that is none of ours. */
function expiryOf(name: string): number {
  return Number(/^dump-(\d+)-/.exec(name)?.[1] ?? 0)
}
