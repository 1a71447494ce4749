import type { ServerBody } from "./answer.ts"
import { Deviation, holds } from "./deviation.ts"

const protocolCodes = new Set([
  ...["canceled", "deadline_exceeded", "invalid_argument", "not_found", "already_exists", "permission_denied"],
  ...["unauthenticated", "resource_exhausted", "failed_precondition", "aborted", "unimplemented", "unavailable"],
  ...["internal", "data_loss"],
])

/** What holds for every frame, whichever rule is being looked at. @throws Deviation */
export function checkFrame(body: ServerBody, bytes: number, maxFrameBytes: number): void {
  if (body.case === undefined) throw new Deviation("", "a ServerMessage with a message", "an unset oneof")
  holds(bytes <= maxFrameBytes, `a frame of at most ${maxFrameBytes} bytes`, bytes)
  if (body.case === "error") checkCode(body.value.code)
}

function checkCode(code: string): void {
  const isKnown = protocolCodes.has(code) || /^SQLITE_[A-Z_]+$/.test(code)
  holds(isKnown, "a code of the protocol, or SQLite's name of a result", code)
}
