import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf"
import { expect, test } from "@playwright/test"
// By file path, since the package exports no AgentDB: an independent codec of the same schema.
import * as oracle from "../../../node_modules/@livekit/protocol/src/gen/livekit_agentdb_pb.js"
import { file_livekit_agentdb as file } from "../../../src/gen/livekit_agentdb_pb.ts"

/** What a field is on the wire, and its name in JSON. */
interface Field {
  no: number
  name: string
  type: string
  repeated: boolean
  packed: boolean
  oneof: string | undefined
}

/** The runtime types of the oracle's generator, as far as they describe a schema. */
interface OracleMessage {
  typeName: string
  fields: { list(): readonly OracleField[] }
}
interface OracleEnum {
  typeName: string
  values: readonly { no: number; name: string }[]
}
interface OracleField {
  no: number
  name: string
  kind: "scalar" | "enum" | "message" | "map"
  T: number | OracleMessage | OracleEnum
  repeated: boolean
  packed: boolean
  oneof: { name: string } | undefined
}

const scalar = (type: number) => (ScalarType[type] as string).toLowerCase()

function* nested(messages: readonly DescMessage[]): Generator<DescMessage> {
  for (const message of messages) {
    yield message
    yield* nested(message.nestedMessages)
  }
}
const messages = [...nested(file.messages)]
const enums = messages.flatMap((message) => message.nestedEnums)

function ourField(field: DescField): Field {
  const list = field.fieldKind === "list"
  const kind = list ? field.listKind : field.fieldKind
  let type = kind as string
  if (kind === "scalar") type = scalar(field.scalar as number)
  else if (kind === "enum") type = field.enum?.typeName as string
  else if (kind === "message") type = field.message?.typeName as string
  return {
    no: field.number,
    name: field.name,
    type,
    repeated: list,
    packed: list && field.packed,
    oneof: field.oneof?.name,
  }
}

function oracleField(field: OracleField): Field {
  const type = typeof field.T === "number" ? scalar(field.T) : field.T.typeName
  const { no, name, repeated, packed, oneof } = field
  return { no, name, type, repeated, packed: repeated && packed, oneof: oneof?.name }
}

const values = Object.values(oracle) as unknown[]
const oracleMessages = values.filter((value): value is OracleMessage => typeof value === "function")
// An enum is an object of names and numbers; its description hangs on it under a symbol of the generator's own.
const oracleEnums = values.flatMap((value) =>
  typeof value === "object" && value !== null
    ? Object.getOwnPropertySymbols(value).map((key) => (value as Record<symbol, OracleEnum>)[key] as OracleEnum)
    : [],
)

test("the schema is the 32 messages and 73 fields of the independent codec, number for number", () => {
  const theirs = new Map(oracleMessages.map(({ typeName, fields }) => [typeName, fields.list().map(oracleField)]))
  const ours = new Map(messages.map(({ typeName, fields }) => [typeName, fields.map(ourField)]))
  const byNumber = (fields: Field[]) => fields.sort((a, b) => a.no - b.no)
  expect([...ours.keys()].sort()).toEqual([...theirs.keys()].sort())
  for (const [name, fields] of theirs) expect(byNumber(ours.get(name) ?? []), name).toEqual(byNumber(fields))
  expect(ours.size).toBe(32)
  expect([...ours.values()].flat()).toHaveLength(73)
})

test("the enums have the same names and numbers", () => {
  const theirs = new Map(oracleEnums.map((type) => [type.typeName, type.values.map(({ no, name }) => `${name} ${no}`)]))
  const ours = new Map(enums.map((type) => [type.typeName, type.values.map(({ number, name }) => `${name} ${number}`)]))
  expect([...theirs.keys()].sort()).toEqual(["livekit.AgentDB.Wire.QueryLang", "livekit.AgentDB.Wire.ValueType"])
  expect(ours).toEqual(theirs)
})

test("service AgentDBService has its five calls", () => {
  const [service, ...others] = file.services
  expect(others).toEqual([])
  expect(service?.typeName).toBe("livekit.AgentDBService")
  const calls = service?.methods.map(({ name, input, output }) => `${name} ${input.typeName} ${output.typeName}`)
  const message = (name: string) => `livekit.AgentDB.${name}`
  expect(calls).toEqual([
    `CreateDatabase ${message("CreateRequest")} ${message("CreateResponse")}`,
    `GetDatabase ${message("GetRequest")} ${message("AgentDatabase")}`,
    `ListDatabases ${message("ListRequest")} ${message("ListResponse")}`,
    `DeleteDatabase ${message("DeleteRequest")} ${message("DeleteResponse")}`,
    `DumpDatabase ${message("DumpRequest")} ${message("DumpResponse")}`,
  ])
})
