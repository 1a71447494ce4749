import { createHmac, generateKeyPairSync } from "node:crypto"
import { expect, test } from "@playwright/test"
import { SignJWT } from "jose"
import { verifyToken } from "../../../src/wire/jwt.ts"
import { TestService } from "../../fixtures/service.ts"
import { call } from "../../fixtures/twirp-call.ts"

const keys = { devkey: "secret" }
const now = Math.floor(Date.now() / 1000)
const grant = { agent: { databaseAdmin: true } }
const valid = { iss: "devkey", exp: now + 60, ...grant }
const part = (value: string | object) =>
  Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url")

/** A token of any head and body, signed as HS256 with the right secret. */
function raw(head: string | object, body: string | object, secret = "secret", algorithm = "sha256"): string {
  const signed = `${part(head)}.${part(body)}`
  return `${signed}.${createHmac(algorithm, secret).update(signed).digest("base64url")}`
}
const hs256 = { alg: "HS256", typ: "JWT" }
const body = (claims: object) => raw(hs256, { ...valid, ...claims })
const bodyText = (text: string) => raw(hs256, text)

const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 })
const pem = publicKey.export({ type: "spki", format: "pem" }).toString()

test("a token that is forged, confused or odd opens nothing, and is told why without being repeated", async () => {
  const [head, claims, signature] = body({}).split(".") as [string, string, string]
  const cases: Record<string, [string, string]> = {
    "alg none, no signature": [`${part({ alg: "none" })}.${claims}.`, "not signed with HS256"],
    "alg None": [`${part({ alg: "None" })}.${claims}.${signature}`, "not signed with HS256"],
    "alg hs256": [raw({ alg: "hs256" }, valid), "not signed with HS256"],
    "alg HS512 with its own hash": [raw({ alg: "HS512" }, valid, "secret", "sha512"), "not signed with HS256"],
    "alg missing": [raw({}, valid), "not signed with HS256"],
    "alg a list": [raw({ alg: ["HS256"] }, valid), "not signed with HS256"],
    "RS256, truly signed": [
      await new SignJWT(valid).setProtectedHeader({ alg: "RS256" }).sign(privateKey),
      "not signed with HS256",
    ],
    "HS256 over the public key": [raw(hs256, valid, pem), "signature is wrong"],
    "a wrong key": [raw(hs256, valid, "secret2"), "signature is wrong"],
    "an empty key": [raw(hs256, valid, ""), "signature is wrong"],
    "no signature": [`${head}.${claims}.`, "signature is wrong"],
    "half a signature": [`${head}.${claims}.${signature.slice(0, 20)}`, "signature is wrong"],
    "sha512 under HS256": [raw(hs256, valid, "secret", "sha512"), "signature is wrong"],
    "other claims under the signature": [
      `${head}.${part({ ...valid, exp: now + 9e9 })}.${signature}`,
      "signature is wrong",
    ],
    "exp a string": [body({ exp: String(now + 60) }), "has no expiry"],
    "exp null": [body({ exp: null }), "has no expiry"],
    "exp true": [body({ exp: true }), "has no expiry"],
    "exp beyond all numbers": [
      bodyText(`{"iss":"devkey","exp":1e999,"agent":{"databaseAdmin":true}}`),
      "has no expiry",
    ],
    "exp past": [body({ exp: now - 61 }), "has expired"],
    "exp twice, the last past": [
      bodyText(`{"iss":"devkey","exp":${now + 60},"exp":1,"agent":{"databaseAdmin":true}}`),
      "has expired",
    ],
    "nbf to come": [body({ nbf: now + 100 }), "not valid yet"],
    "nbf a string": [body({ nbf: "0" }), "not valid yet"],
    "nbf null": [body({ nbf: null }), "not valid yet"],
    "iss missing": [body({ iss: undefined }), "API key is unknown"],
    "iss a list": [body({ iss: ["devkey"] }), "API key is unknown"],
    "iss __proto__": [body({ iss: "__proto__" }), "API key is unknown"],
    "iss constructor": [body({ iss: "constructor" }), "API key is unknown"],
    "iss twice, the last unknown": [
      bodyText(`{"iss":"devkey","iss":"nobody","exp":${now + 60},"agent":{"databaseAdmin":true}}`),
      "API key is unknown",
    ],
    "no grant": [body({ agent: undefined }), "lacks the grant"],
    "another grant": [body({ agent: { admin: true } }), "lacks the grant"],
    "a grant of 1": [body({ agent: { databaseAdmin: 1 } }), "lacks the grant"],
    "a grant of null": [body({ agent: null }), "lacks the grant"],
    "the grant as video's": [body({ agent: undefined, video: { databaseAdmin: true } }), "lacks the grant"],
    "the grant inherited": [
      bodyText(`{"iss":"devkey","exp":${now + 60},"agent":{"__proto__":{"databaseAdmin":true}}}`),
      "lacks the grant",
    ],
    "a body that is a list": [bodyText("[]"), "API key is unknown"],
    "a body that is null": [bodyText("null"), "malformed"],
    "a body that is no JSON": [bodyText("{"), "malformed"],
    "no parts": ["x", "malformed"],
    "five parts": ["a.b.c.d.e", "malformed"],
    "a megabyte": ["x".repeat(1 << 20), "malformed"],
    "a megabyte of dots": [".".repeat(1 << 20), "malformed"],
    "spaces around it": [` ${body({})} `, "signature is wrong"],
  }
  for (const [name, [token, message]] of Object.entries(cases)) {
    let error: Error | undefined
    try {
      verifyToken(token, keys, now)
    } catch (thrown) {
      error = thrown as Error
    }
    expect((error as { code?: string } | undefined)?.code, name).toBe("unauthenticated")
    expect(error?.message, name).toContain(message)
    for (const piece of token.split(".")) if (piece.length > 8) expect(error?.message, name).not.toContain(piece)
  }
  expect(verifyToken(body({}), keys, now)).toBe("devkey")
})

test("the same refusals come through a Hello and through Twirp, and nothing opens before", async () => {
  await using at = await TestService.start()
  for (const token of [raw({ alg: "none" }, valid), raw(hs256, valid, pem), body({ agent: {} }), "x".repeat(1 << 20)]) {
    const socket = at.socket()
    const hello = socket.hello(token, at.databaseId)
    const early = socket.exec("CREATE TABLE early(x)")
    expect((await hello).error?.code).toBe("unauthenticated")
    expect((await socket.closed).code).toBe(1008)
    expect((await early).execs).toEqual([])
    const response = await call(at, "/twirp/livekit.AgentDBService/ListDatabases", token, "{}")
    expect([response.status, response.code]).toEqual([401, "unauthenticated"])
  }
  const peer = await at.connect()
  expect((await peer.query("SELECT count(*) FROM sqlite_schema")).rows).toEqual([[0n]])
})
