import { sha256 } from "@noble/hashes/sha2.js"
import type { SyncFile } from "../storage/storage.ts"
import { AgentDBError } from "../wire/errors.ts"
import { resize, writePiece } from "./write-piece.ts"

/** What a database is, apart from its content. */
export interface MetaAttributes {
  readonly region: string
  /** Unix seconds. */
  readonly createdAt: number
  /** Unix seconds; 0 is never. */
  readonly expiresAt: number
  /** Grows with each creation: the order of lists, at least 1. */
  readonly order: number
  /** The idempotency key of the call that made it. */
  readonly requestId?: string
}

/** One slot of a meta file: how far the tip had come when the WAL stood where `salt1`, `salt2`, `mxFrame` say. */
export interface MetaRecord {
  /** The newer of two slots has the greater one. */
  readonly seq: number
  readonly tip: number
  readonly salt1: number
  readonly salt2: number
  /** Frames of that WAL that the tip counts. */
  readonly mxFrame: number
  /** The database was not closed: its tip is not known without opening it. */
  readonly dirty: boolean
  /** Its removal was promised; what is left of it goes at the next start. */
  readonly deleted: boolean
  readonly attributes: MetaAttributes
}

/** How far the WAL was flushed after a record was written: what was acknowledged since. */
export interface WalMark {
  /** Of the record that stood when it was written. */
  readonly seq: number
  readonly salt1: number
  readonly salt2: number
  readonly mxFrame: number
}

/*
 * A slot is a page of its own, so that a torn write of one cannot reach the other. Big-endian:
 * 0 magic, 4 format version, 8 seq, 16 tip, 24 salt1, 28 salt2, 32 mxFrame, 36 dirty 1 | deleted 2,
 * 40 length of the attributes, 44 the attributes as JSON, zeros, and a checksum of all before it in the last 16
 * bytes. Magic, version and checksum keep their places in every later version, so that each can tell what is newer
 * from what is damaged.
 *
 * The third page holds the mark: 0 magic, 4 salt1, 8 salt2, 12 mxFrame, 16 seq, 24 a checksum of 16 bytes. It is
 * written without a flush, so it costs a commit nothing, and one that is torn is as good as none.
 */
const slotBytes = 4096
const markAt = 2 * slotBytes
const markBytes = 24 + 16
const fileBytes = 3 * slotBytes
const headerBytes = 44
const checksumBytes = 16
const magic = 0x4144_424d
const formatVersion = 1
/** Of the second slot: no record begins like this. */
const announcement = new TextEncoder().encode("content is to come")

/**
 * The newest valid record of a meta file; undefined if there is none.
 * @throws AgentDBError `failed_precondition` if a newer version of this package has written it
 */
export function parseMeta(bytes: Uint8Array): MetaRecord | undefined {
  const slots = [readSlot(bytes, 0), readSlot(bytes, 1)].filter((slot) => slot !== undefined)
  return slots.sort((a, b) => b.seq - a.seq)[0]
}

/**
 * Marks a database as deleted and flushes that: a power cut may take back the removal of files, but not this.
 * A damaged one cannot be marked, and goes without.
 */
export function markDeleted(file: SyncFile): void {
  try {
    MetaFile.open(file)?.update({ deleted: true })
  } catch (error) {
    if (!(error instanceof AgentDBError) || !["data_loss", "SQLITE_FULL"].includes(error.code)) throw error
  }
}

/** The meta file of an open database. */
export class MetaFile {
  readonly #file: SyncFile
  #record: MetaRecord
  /** As it was found at opening; undefined if there is none that is whole. */
  readonly mark: WalMark | undefined

  private constructor(file: SyncFile, record: MetaRecord, mark?: WalMark) {
    this.#file = file
    this.#record = record
    this.mark = mark
  }

  /**
   * Empties the file and flushes the record of a database without commits.
   * @throws AgentDBError `invalid_argument` if the attributes do not fit a slot
   */
  static create(file: SyncFile, attributes: MetaAttributes): MetaFile {
    setSize(file)
    return MetaFile.#first(file, attributes, 0)
  }

  /** Flushes that content is to come without a record yet. Until `finish` it belongs to no database. */
  static announce(file: SyncFile): void {
    setSize(file)
    writePiece(file, announcement, slotBytes)
    file.flush()
  }

  /** Whether a file without a valid record says why it has none. */
  static isAnnounced(file: SyncFile): boolean {
    const found = new Uint8Array(announcement.length)
    file.read(found, { at: slotBytes })
    return announcement.every((byte, i) => byte === found[i])
  }

  /**
   * Flushes the record of what was announced: its content is the first commit.
   * @throws AgentDBError as `create`
   */
  static finish(file: SyncFile, attributes: MetaAttributes): MetaFile {
    // The announcement is in the other slot: it stays until this one is there.
    return MetaFile.#first(file, attributes, 1)
  }

  static #first(file: SyncFile, attributes: MetaAttributes, tip: number): MetaFile {
    const record = { seq: 0, tip, salt1: 0, salt2: 0, mxFrame: 0, dirty: false, deleted: false, attributes }
    writeSlot(file, encodeSlot(record), 0)
    return new MetaFile(file, record)
  }

  /**
   * Undefined if the file holds no valid record.
   * @throws AgentDBError as `parseMeta`; `data_loss` if the newest record was damaged after it had been flushed
   */
  static open(file: SyncFile): MetaFile | undefined {
    const bytes = new Uint8Array(fileBytes)
    const found = bytes.subarray(0, file.read(bytes, { at: 0 }))
    const record = parseMeta(found)
    const mark = readMark(found)
    if (record && mark && mark.seq > record.seq) {
      throw new AgentDBError("data_loss", `record ${mark.seq} of the database is damaged`)
    }
    return record && new MetaFile(file, record, mark)
  }

  get record(): MetaRecord {
    return this.#record
  }

  /** Writes the other slot and flushes. Until that returned the old record stands. */
  update(change: Partial<Omit<MetaRecord, "seq" | "attributes">>): void {
    const record = { ...this.#record, ...change, seq: this.#record.seq + 1 }
    writeSlot(this.#file, encodeSlot(record), record.seq % 2)
    this.#record = record
  }

  /** Notes that the WAL is flushed up to here. What is lost of it with the process is nothing but a check. */
  note(position: Omit<WalMark, "seq">): void {
    try {
      this.#file.write(encodeMark({ ...position, seq: this.#record.seq }), { at: markAt })
    } catch {
      // An older mark says less, and nothing wrong.
    }
  }
}

/** All that it will ever need, so that a full disk never stops a record. */
function setSize(file: SyncFile): void {
  resize(file, 0)
  resize(file, fileBytes)
}

function writeSlot(file: SyncFile, slot: Uint8Array, index: number): void {
  writePiece(file, slot, index * slotBytes)
  file.flush()
}

function encodeSlot(record: MetaRecord): Uint8Array<ArrayBuffer> {
  const slot = new Uint8Array(slotBytes)
  const view = new DataView(slot.buffer)
  const attributes = new TextEncoder().encode(JSON.stringify(record.attributes))
  if (attributes.length > slotBytes - headerBytes - checksumBytes) {
    throw new AgentDBError("invalid_argument", "the region or request id is too long")
  }
  view.setUint32(0, magic)
  view.setUint32(4, formatVersion)
  view.setBigUint64(8, BigInt(record.seq))
  view.setBigUint64(16, BigInt(record.tip))
  view.setUint32(24, record.salt1)
  view.setUint32(28, record.salt2)
  view.setUint32(32, record.mxFrame)
  view.setUint32(36, (record.dirty ? 1 : 0) | (record.deleted ? 2 : 0))
  view.setUint32(40, attributes.length)
  slot.set(attributes, headerBytes)
  seal(slot)
  return slot
}

function readSlot(bytes: Uint8Array, index: number): MetaRecord | undefined {
  const slot = bytes.subarray(index * slotBytes, (index + 1) * slotBytes)
  if (slot.length < slotBytes) return undefined
  const view = new DataView(slot.buffer, slot.byteOffset, slot.length)
  if (view.getUint32(0) !== magic) return undefined
  if (!isWhole(slot)) return undefined
  const version = view.getUint32(4)
  if (version > formatVersion) {
    throw new AgentDBError(
      "failed_precondition",
      `the database has format ${version}, and this version of agentdb-web knows up to ${formatVersion}: use a newer one`,
    )
  }
  const attributes = new TextDecoder().decode(slot.subarray(headerBytes, headerBytes + view.getUint32(40)))
  return {
    seq: Number(view.getBigUint64(8)),
    tip: Number(view.getBigUint64(16)),
    salt1: view.getUint32(24),
    salt2: view.getUint32(28),
    mxFrame: view.getUint32(32),
    dirty: (view.getUint32(36) & 1) !== 0,
    deleted: (view.getUint32(36) & 2) !== 0,
    attributes: JSON.parse(attributes) as MetaAttributes,
  }
}

function encodeMark({ seq, salt1, salt2, mxFrame }: WalMark): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(markBytes)
  const view = new DataView(bytes.buffer)
  view.setUint32(0, magic)
  view.setUint32(4, salt1)
  view.setUint32(8, salt2)
  view.setUint32(12, mxFrame)
  view.setBigUint64(16, BigInt(seq))
  seal(bytes)
  return bytes
}

function readMark(meta: Uint8Array): WalMark | undefined {
  const bytes = meta.subarray(markAt, markAt + markBytes)
  if (bytes.length < markBytes) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  if (view.getUint32(0) !== magic || !isWhole(bytes)) return undefined
  return {
    salt1: view.getUint32(4),
    salt2: view.getUint32(8),
    mxFrame: view.getUint32(12),
    seq: Number(view.getBigUint64(16)),
  }
}

/** Of all but the last bytes, where it is kept. */
function checksum(bytes: Uint8Array): Uint8Array {
  return sha256(bytes.subarray(0, -checksumBytes)).subarray(0, checksumBytes)
}

function seal(bytes: Uint8Array): void {
  bytes.set(checksum(bytes), bytes.length - checksumBytes)
}

function isWhole(bytes: Uint8Array): boolean {
  const found = bytes.subarray(-checksumBytes)
  return checksum(bytes).every((byte, i) => byte === found[i])
}
