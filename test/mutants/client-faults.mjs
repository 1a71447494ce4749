import { fault } from "./fault.mjs"

/**
 * Faults of the stand-ins and of the Node server, for the tests with clients that others made.
 * @type {readonly import("./fault.mjs").Fault[]}
 */
export const clientFaults = [
  // The class
  fault(
    "at the open event the socket is not open yet",
    "standin/socket-life.ts",
    "    this.#events.open()\n",
    '    const open = this.#state\n    this.#state = { kind: "connecting" }\n    this.#events.open()\n    this.#state = open\n',
  ),
  fault(
    "on... attributes hear nothing",
    "standin/event-handler.ts",
    'typeof this.#handler === "function"',
    'typeof this.#type === "number" && typeof this.#handler === "function"',
  ),
  fault(
    "a message is a Blob although it should be an ArrayBuffer",
    "standin/web-socket.ts",
    'if (this.#binaryType === "blob") return',
    "if (this.#binaryType) return",
  ),
  fault("bufferedAmount never falls", "standin/outgoing.ts", "this.#buffered -= this.#passed", ""),
  fault(
    "the subprotocol is ignored",
    "standin/web-socket.ts",
    "this.#protocol = protocol\n",
    'this.#protocol = protocol && ""\n',
  ),
  fault("the class has no constants", "standin/web-socket.ts", "  shapeAsInterface(StandIn)\n", ""),
  fault(
    "the close comes before the error",
    "standin/socket-life.ts",
    "    if (failed) this.#events.error()\n    this.#events.close(init)",
    "    this.#events.close(init)\n    if (failed) this.#events.error()",
  ),
  fault(
    "a lost connection closes with the service's own code",
    "standin/socket-life.ts",
    "(lost ? this.#fail() : this.#finish",
    "(lost && code < 1000 ? this.#fail() : this.#finish",
  ),
  fault(
    "a lost connection closes with 1005",
    "standin/socket-life.ts",
    "const lost = { code: 1006,",
    "const lost = { code: 1005,",
  ),
  fault(
    "a lost connection is not told",
    "standin/socket-life.ts",
    "    if (failed) this.#events.error()\n    this.#events.close(init)",
    "    if (!failed) this.#events.close(init)",
  ),
  fault(
    "an own close is never confirmed",
    "standin/socket-life.ts",
    "        later(() => this.#finish({ code: code ?? noCode, reason, wasClean: true }))\n",
    "",
  ),
  fault(
    "text is taken for a frame",
    "standin/socket-life.ts",
    "link?.sendText(body)",
    "link?.send(new TextEncoder().encode(body))",
  ),
  fault(
    "only the first message of a task is sent",
    "standin/outgoing.ts",
    "    this.#sink.pass(body)\n",
    "    if (this.#passed === 0) this.#sink.pass(body)\n",
  ),

  // Its fetch, and the management plane
  fault(
    "fetch does not heed its signal",
    "host/twirp-fetch.ts",
    "const request = new Request(input, init)",
    "const request = new Request(input, { ...init, signal: null })",
  ),
  fault("what is missing is a 500", "server/twirp.ts", "  not_found: 404,", "  not_found: 500,"),
  fault(
    "every error has one code",
    "server/twirp.ts",
    "JSON.stringify({ code, msg:",
    'JSON.stringify({ code: "internal", msg:',
  ),
  fault(
    "an error's content type names a charset",
    "server/twirp.ts",
    'response(statuses[code] as number, "application/json"',
    'response(statuses[code] as number, "application/json; charset=utf-8"',
  ),
  fault("JSON has names in camelCase", "server/twirp.ts", "useProtoFieldName: true", "useProtoFieldName: false"),
  fault("JSON leaves out defaults", "server/twirp.ts", "alwaysEmitImplicit: true", "alwaysEmitImplicit: false"),
  fault(
    "JSON has int64 as numbers",
    "server/twirp.ts",
    "encoder.encode(json))",
    'encoder.encode(json.replace(/"(\\d+)"/g, "$1")))',
  ),
  fault(
    "a protobuf request is answered in JSON",
    "server/twirp.ts",
    "toBinary(method.output, output))",
    "encoder.encode(toJsonString(method.output, output)))",
  ),
  fault(
    "a content type with parameters is unknown",
    "server/twirp.ts",
    'contentType?.split(";")[0]?.trim().toLowerCase()',
    "contentType",
  ),
  fault("the grant is looked for elsewhere", "wire/jwt.ts", "const grant = claims.agent", "const grant = claims.video"),

  // The data plane, also of the Node server
  fault("a first Credit is needed", "server/request.ts", "credit: limits.initialCredit", "credit: 0"),
  fault(
    "a Credit counts for nothing",
    "server/stream.ts",
    "Math.min(maxCredit, this.#credit + batches)",
    "Math.min(maxCredit, this.#credit)",
  ),
  fault(
    "a Pong echoes nothing",
    "server/session.ts",
    "lastPingTimestampMs: message.value.timestampMs",
    "lastPingTimestampMs: 0n",
  ),
  fault("frames over 16 MiB are taken", "wire/limits.ts", "maxFrameBytes: 16 * MiB", "maxFrameBytes: 64 * MiB"),
  fault("a Cancel does not reach a busy worker", "node/socket.ts", "    tellCancel(frame)\n", ""),
  fault(
    "frames leave as text",
    "node/socket.ts",
    "socket.send(frame, () =>",
    "socket.send(frame, { binary: false }, () =>",
  ),
  fault("the close code is always 1000", "node/socket.ts", "socket.close(close.code,", "socket.close(1000,"),
]
