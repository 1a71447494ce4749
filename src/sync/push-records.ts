import type { DBSchema } from "idb"
import type { EarlierPush } from "../client/index.ts"
import { remembered } from "./remembered.ts"

/** Where a push goes: one database, one sink, one target. */
export interface Place {
  readonly databaseId: string
  readonly sink: string
  readonly target: string
}

/** What this browser remembers of a push. */
export interface PushRecord extends Place {
  /** Rises with each push. */
  readonly id: number
  /** `pushing` is under way, or was cut by the end of its page: then the outcome is not known. */
  readonly state: "pushing" | "done" | "failed"
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly endedAt?: number | undefined
  /** Of what is pushed, once it is known. */
  readonly tip?: number | undefined
  readonly size?: number | undefined
  readonly sha256?: string | undefined
  readonly etag?: string | undefined
  readonly url?: string | undefined
  /** The database that the sink made of it. */
  readonly targetDatabaseId?: string | undefined
  /** How its sink goes on with it. */
  readonly resume?: string | undefined
  /** Code of the error that it failed by. */
  readonly code?: string | undefined
  /** It may have arrived: nothing told. */
  readonly outcomeUnknown?: boolean | undefined
}

type Draft = Omit<PushRecord, "id">

interface Schema extends DBSchema {
  pushes: { key: number; value: Draft & { id?: number }; indexes: { place: [string, string, string] } }
}

const recordsPerPlace = 20
const recordsInAll = 1_000

const records = remembered<Schema>("agentdb-web-pushes", (db) => {
  const store = db.createObjectStore("pushes", { keyPath: "id", autoIncrement: true })
  store.createIndex("place", ["databaseId", "sink", "target"])
})

const keyOf = ({ databaseId, sink, target }: Place): [string, string, string] => [databaseId, sink, target]

/** Writes down that a push begins. @param resume of the one that was cut before it @returns its id */
export async function recordStart(place: Place, resume: string | undefined): Promise<number> {
  const { last } = await recall(place)
  const tx = (await records()).transaction("pushes", "readwrite")
  const { databaseId, sink, target } = place
  const id = await tx.store.add({ databaseId, sink, target, state: "pushing", startedAt: Date.now(), resume })
  const here = await tx.store.index("place").getAllKeys(keyOf(place))
  const all = await tx.store.getAllKeys()
  const excess = new Set([...here.slice(0, -recordsPerPlace), ...all.slice(0, -recordsInAll)])
  // The last one that was done says what may be overwritten, so it stays.
  for (const key of excess) if (key !== last?.id) await tx.store.delete(key)
  await tx.done
  return id
}

/** Adds to what is known of a push. */
export async function recordMore(id: number, more: Partial<Draft>): Promise<void> {
  const tx = (await records()).transaction("pushes", "readwrite")
  const known = await tx.store.get(id)
  if (known) await tx.store.put({ ...known, ...more })
  await tx.done
}

/** What is remembered of an earlier push, as sinks see it. */
type Recalled = PushRecord & EarlierPush

/** The last push to a place that was done, and a later one whose outcome is not known. */
export async function recall(place: Place): Promise<{ last: Recalled | undefined; unfinished: Recalled | undefined }> {
  const tx = (await records()).transaction("pushes")
  let cursor = await tx.store.index("place").openCursor(keyOf(place), "prev")
  let unfinished: Recalled | undefined
  for (; cursor; cursor = await cursor.continue()) {
    const record = cursor.value as PushRecord
    if (!isKnown(record)) continue
    if (record.state === "done") return { last: record, unfinished }
    if (record.state === "pushing" || record.outcomeUnknown) unfinished ??= record
  }
  return { last: undefined, unfinished }
}

/** Nothing was sent before its content was known. */
const isKnown = (record: PushRecord): record is Recalled => record.tip !== undefined && record.sha256 !== undefined

/**
 * The pushes that this browser remembers, newest first: the last 20 of each place, 1,000 in all.
 * One that is `pushing` while none runs was cut; `pushSnapshot` with the same sink goes on with it.
 */
export async function pushHistory(filter: Partial<Place> = {}): Promise<PushRecord[]> {
  const all = (await (await records()).getAll("pushes")) as PushRecord[]
  const wanted = Object.entries(filter).filter(([, value]) => value !== undefined)
  return all.filter((record) => wanted.every(([key, value]) => record[key as keyof Place] === value)).reverse()
}

/** Erases what is remembered of pushes, all or of some places. They then count as never made. */
export async function forgetPushes(filter: Partial<Place> = {}): Promise<void> {
  const gone = await pushHistory(filter)
  const tx = (await records()).transaction("pushes", "readwrite")
  for (const { id } of gone) await tx.store.delete(id)
  await tx.done
}
