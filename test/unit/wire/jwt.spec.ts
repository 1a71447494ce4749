import { expect, test } from "@playwright/test"
import { jwtVerify, SignJWT, UnsecuredJWT } from "jose"
import { AccessToken } from "livekit-server-sdk"
import { mintToken, verifyToken } from "../../../src/wire/jwt.ts"

const keys = { devkey: "secret", other: "secret2" }
const now = Math.floor(Date.now() / 1000)
const secret = new TextEncoder().encode("secret")
const grant = { agent: { databaseAdmin: true } }
const sign = (claims: object, key = secret, alg = "HS256") =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg }).sign(key)

test("a token that livekit-server-sdk minted opens the project of its key", async () => {
  const token = new AccessToken("devkey", "secret", { ttl: 60 })
  Object.assign(token, { grants: { ...grant } })
  expect(verifyToken(await token.toJwt(), keys, now)).toBe("devkey")
})

test("a token minted here passes an independent library", async () => {
  const { payload } = await jwtVerify(mintToken("devkey", "secret", now), secret)
  expect(payload).toMatchObject({ iss: "devkey", ...grant })
  expect(verifyToken(mintToken("other", "secret2", now), keys, now)).toBe("other")
})

test("a refused token is told why, without being repeated", async () => {
  const valid = { iss: "devkey", exp: now + 60, ...grant }
  const cases: [string, string | Promise<string>][] = [
    ["the token is missing", ""],
    ["the token is malformed", "abc"],
    ["the token is malformed", "a.b.c"],
    ["the token is malformed", "a.b.c.d"],
    ["the token is not signed with HS256", new UnsecuredJWT(valid).encode()],
    ["the token is not signed with HS256", sign(valid, secret, "HS512")],
    ["the token's API key is unknown", sign({ ...valid, iss: "nobody" })],
    ["the token's API key is unknown", sign({ ...valid, iss: "__proto__" })],
    ["the token's API key is unknown", sign({ exp: now + 60, ...grant })],
    ["the token's signature is wrong", sign({ ...valid, iss: "other" })],
    ["the token has no expiry", sign({ iss: "devkey", ...grant })],
    ["the token has expired", sign({ ...valid, exp: now - 60 })],
    ["the token is not valid yet", sign({ ...valid, nbf: now + 61 })],
    ["the token lacks the grant agent.databaseAdmin", sign({ iss: "devkey", exp: now + 60 })],
    ["the token lacks the grant agent.databaseAdmin", sign({ ...valid, agent: { databaseAdmin: "true" } })],
  ]
  for (const [message, token] of cases) {
    const given = await token
    expect(() => verifyToken(given, keys, now), message).toThrow(
      expect.objectContaining({ code: "unauthenticated", message }),
    )
  }
})

test("60 seconds of leeway on both ends", async () => {
  expect(verifyToken(await sign({ iss: "devkey", exp: now - 59, ...grant }), keys, now)).toBe("devkey")
  expect(verifyToken(await sign({ iss: "devkey", exp: now + 60, nbf: now + 60, ...grant }), keys, now)).toBe("devkey")
})
