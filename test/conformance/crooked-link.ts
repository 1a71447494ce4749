import { decodeServerMessage, type Frame } from "agentdb-web"
import type { Link } from "../../src/link/link.ts"
import type { ServerFrame } from "../../src/wire/frames.ts"
import { decodeClientMessage, encodeClientMessage, encodeServerMessage } from "../../src/wire/frames.ts"

/** What a service does wrong, as its client sees it. */
export interface Fault {
  /** What arrives in place of an answer; undefined swallows it. */
  answer?(frame: ServerFrame): ServerFrame | undefined
  /** Each query gets as many batches above its credit. */
  extraBatches?: number
}

/** A link to a service that deviates. */
export function crooked(inner: Link, { answer, extraBatches }: Fault): Link {
  const link: Link = {
    onframe: undefined,
    onclose: undefined,
    onsignal: undefined,
    signals: "none",
    signal() {},
    send(frame) {
      const { requestId, message } = decodeClientMessage(frame)
      inner.send(frame)
      if (message.case !== "query" || !extraBatches) return
      inner.send(encodeClientMessage(requestId, { case: "credit", value: { batches: extraBatches } }))
    },
    close: (code, reason) => inner.close(code, reason),
  }
  inner.onframe = (frame) => {
    const bent = answer ? bend(frame, answer) : frame
    if (bent) link.onframe?.(bent)
  }
  inner.onclose = (close) => link.onclose?.(close)
  return link
}

function bend(frame: Frame, answer: NonNullable<Fault["answer"]>): Frame | undefined {
  const decoded = decodeServerMessage(frame)
  const bent = answer(decoded)
  if (bent === decoded || !bent) return bent && frame
  const { requestId, message } = bent
  if (message.case === undefined || message.case === "columnBatch") throw new Error("can't be encoded here")
  return encodeServerMessage(requestId, message)
}
