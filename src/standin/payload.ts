import { asString } from "./socket-arguments.ts"

/** One message on its way out. */
export interface Payload {
  /** Bytes are a copy, so that the caller's are neither detached nor seen to change. */
  readonly body: string | Uint8Array<ArrayBuffer> | Blob
  /** As `bufferedAmount` counts them. */
  readonly bytes: number
}

/**
 * What `send` takes, as WebIDL converts it: anything but bytes and Blobs is text.
 * @throws TypeError for bytes that are shared or may be resized.
 */
export function payloadOf(data: unknown): Payload {
  if (isBlob(data)) return { body: data, bytes: data.size }
  if (ArrayBuffer.isView(data)) return copyOf(data.buffer, data.byteOffset, data.byteLength)
  if (isBuffer(data)) return copyOf(data, 0, data.byteLength)
  const text = asString(data)
  return { body: text, bytes: new TextEncoder().encode(text).byteLength }
}

function copyOf(buffer: ArrayBufferLike, offset: number, length: number): Payload {
  if (!isBuffer(buffer)) throw refused("shared")
  if ("resizable" in buffer && buffer.resizable) throw refused("resizable")
  // A detached buffer has no bytes left, and no view can be laid over it.
  const body = length === 0 ? new Uint8Array() : new Uint8Array(buffer, offset, length).slice()
  return { body, bytes: length }
}

// By tag, since what an iframe made is of another realm.
const tagOf = (value: unknown): string => Object.prototype.toString.call(value)
const isBuffer = (value: unknown): value is ArrayBuffer => tagOf(value) === "[object ArrayBuffer]"
const isBlob = (value: unknown): value is Blob => ["[object Blob]", "[object File]"].includes(tagOf(value))

const refused = (what: string) =>
  new TypeError(`Failed to execute 'send' on 'WebSocket': The provided bytes must not be ${what}.`)
