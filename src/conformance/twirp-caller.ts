import type { DescMethodUnary } from "@bufbuild/protobuf"
import { create, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { AgentDBService } from "../gen/livekit_agentdb_pb.ts"
import { Deviation, same } from "./deviation.ts"
import type { Stage } from "./stage.ts"

export type Method = "CreateDatabase" | "GetDatabase" | "ListDatabases" | "DeleteDatabase" | "DumpDatabase"

const path = "/twirp/livekit.AgentDBService/"

/** The management plane by requests that are made by hand. */
export class TwirpCaller {
  readonly #stage: Stage
  readonly #url: string
  readonly #fetch: typeof globalThis.fetch

  /** For rules that need `twirp`. */
  constructor(stage: Stage) {
    const { twirp } = stage.target
    if (!twirp) throw new Deviation("", "a Twirp plane", "none")
    this.#stage = stage
    this.#url = twirp.url.replace(/\/$/, "")
    this.#fetch = twirp.fetch ?? ((input, init) => globalThis.fetch(input, init))
  }

  async post(method: string, body: BodyInit, headers: Record<string, string> = {}): Promise<Response> {
    const authorization = `Bearer ${await this.#stage.token()}`
    return this.at(`${path}${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization, ...headers },
      body,
    })
  }

  /** Any request, by its path. */
  at(target: string, init: RequestInit): Promise<Response> {
    return this.#fetch(`${this.#url}${target}`, init)
  }

  /** A call in JSON that is to succeed. @param o a string is taken as it is */
  async json(method: Method, o: object | string, headers?: Record<string, string>): Promise<Record<string, unknown>> {
    const response = await this.post(method, typeof o === "string" ? o : JSON.stringify(o), headers)
    const text = await response.text()
    same([response.status, response.headers.get("content-type")], [200, "application/json"], `${method}: ${text}`)
    return JSON.parse(text) as Record<string, unknown>
  }

  async getInProtobuf(databaseId: string) {
    const { getDatabase } = AgentDBService.method
    return this.#protobuf("GetDatabase", getDatabase, { databaseId })
  }

  async #protobuf<M extends DescMethodUnary>(name: Method, method: M, input: MessageInitShape<M["input"]>) {
    const body = toBinary(method.input, create(method.input, input)) as Uint8Array<ArrayBuffer>
    const response = await this.post(name, body, { "content-type": "application/protobuf" })
    same([response.status, response.headers.get("content-type")], [200, "application/protobuf"], name)
    return fromBinary(method.output as M["output"], new Uint8Array(await response.arrayBuffer()))
  }
}

/** Sees an answer refused in Twirp's form. @returns the body */
export async function refusedBy(response: Response, status: number, code: string, about = "") {
  const text = await response.text()
  same(response.headers.get("content-type"), "application/json", `${about}: content type`)
  const body = parse(text)
  same([response.status, body["code"], typeof body["msg"]], [status, code, "string"], about)
  return body
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>
  } catch {
    throw new Deviation("the body of a failure", "JSON", text)
  }
}
