import { create } from "@bufbuild/protobuf"
import { AgentDB_Wire_ValueSchema, type AgentDB_Wire_Value as WireValue } from "../gen/livekit_agentdb_pb.ts"

/** A value as it comes out of a query. */
export type Value = null | number | bigint | string | Uint8Array<ArrayBuffer>

/** A value that can be bound to a parameter. */
export type Param = null | boolean | number | bigint | string | ArrayBufferLike | ArrayBufferView | Real

const INT64_MIN = -(2n ** 63n)
const INT64_MAX = 2n ** 63n - 1n

/** A number that is bound as REAL whatever its value. */
export class Real {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** Forces REAL: `7 / 2` is 3 in SQL where `7 / real(2)` is 3.5. */
export const real = (value: number): Real => new Real(value)

/**
 * A parameter as the wire carries it. Bytes are copied, so the caller keeps its buffer.
 * A safe whole number except -0 is INTEGER and any other number REAL; NaN is NULL.
 * @param position 1-based, for messages.
 * @throws TypeError for a type that SQL has no place for, RangeError for a bigint outside int64.
 */
export function toWireValue(value: unknown, position: number): WireValue {
  return create(AgentDB_Wire_ValueSchema, { value: toOneof(value, position) })
}

/** The same without the generated message around it. */
export function toOneof(value: unknown, position: number): Exclude<WireValue["value"], { case: undefined }> {
  switch (typeof value) {
    case "boolean":
      return { case: "intValue", value: value ? 1n : 0n }
    case "number":
      if (Number.isNaN(value)) return { case: "nullValue", value: true }
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) return { case: "intValue", value: BigInt(value) }
      return { case: "doubleValue", value }
    case "bigint":
      if (value < INT64_MIN || value > INT64_MAX) {
        throw new RangeError(`parameter ${position}: ${value} does not fit a 64-bit integer`)
      }
      return { case: "intValue", value }
    case "string":
      return { case: "textValue", value }
    case "object":
      if (value === null) return { case: "nullValue", value: true }
      if (value instanceof Real) {
        return Number.isNaN(value.value)
          ? { case: "nullValue", value: true }
          : { case: "doubleValue", value: value.value }
      }
      if (ArrayBuffer.isView(value)) {
        return { case: "blobValue", value: copyBytes(value.buffer, value.byteOffset, value.byteLength) }
      }
      if (isBuffer(value)) return { case: "blobValue", value: copyBytes(value, 0, value.byteLength) }
  }
  throw new TypeError(`parameter ${position}: ${describe(value)} cannot be bound`)
}

function isBuffer(value: object): value is ArrayBufferLike {
  // By tag, so that a buffer of another realm counts.
  const tag = Object.prototype.toString.call(value)
  return tag === "[object ArrayBuffer]" || tag === "[object SharedArrayBuffer]"
}

function copyBytes(buffer: ArrayBufferLike, offset: number, length: number): Uint8Array<ArrayBuffer> {
  const copy = new Uint8Array(length)
  copy.set(new Uint8Array(buffer, offset, length))
  return copy
}

function describe(value: unknown): string {
  if (typeof value === "object" && value !== null) return value.constructor?.name ?? "object"
  return typeof value
}
