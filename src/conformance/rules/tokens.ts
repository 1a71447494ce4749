import { Deviation, holds, same } from "../deviation.ts"
import { key, otherProject } from "../needs.ts"
import { refused, succeeded } from "../peer.ts"
import { Section } from "../rule.ts"
import { fails, type Stage } from "../stage.ts"
import { tokenOf } from "../token.ts"

const keyOf = (stage: Stage) => {
  const { key } = stage.target
  if (!key) throw new Deviation("", "a key", "none")
  return key
}

/** Sees a Hello with a token refused, and that the message says why and does not repeat the token. */
async function refuses(stage: Stage, token: string, why: RegExp, about: string): Promise<void> {
  const peer = await stage.socket()
  const { message } = refused(await peer.hello(token, await stage.database()), "unauthenticated", about)
  holds(why.test(message), `a message with ${why}`, message, about)
  holds(token.length < 20 || !message.includes(token), "a message without the token", message, about)
}

async function accepts(stage: Stage, token: string, about: string): Promise<void> {
  const peer = await stage.socket()
  succeeded(await peer.hello(token, await stage.database()), about)
}

export const tokens = new Section("Tokens")
  .rule("token.missing", "Missing: `unauthenticated`, with a message that says so.", (stage) =>
    refuses(stage, "", /missing/i, "no token"),
  )
  .rule("token.malformed", "Malformed: `unauthenticated`, with a message that says so.", async (stage) => {
    for (const token of ["nonsense", "a.b", "a.b.c.d", "..", "e30.e30.e30"]) {
      await refuses(stage, token, /malformed|HS256/i, token)
    }
  })
  .rule(
    "token.hs256",
    "A token is an HS256 JWT.",
    async (stage) => {
      for (const alg of ["none", "HS512", "RS256"]) {
        await refuses(stage, tokenOf(keyOf(stage), {}, alg), /HS256/, `alg ${alg}`)
      }
      const [head, body] = tokenOf(keyOf(stage), {}, "none").split(".")
      await refuses(stage, `${head}.${body}.`, /HS256/, "alg none without a signature")
      await accepts(stage, tokenOf(keyOf(stage)), "HS256")
    },
    key,
  )
  .rule(
    "token.signature",
    "Wrong signature: `unauthenticated`, with a message that says so.",
    async (stage) => {
      const { apiKey } = keyOf(stage)
      await refuses(stage, tokenOf({ apiKey, secret: "not the secret" }), /signature/i, "another secret")
      const [head, , signature] = tokenOf(keyOf(stage)).split(".")
      const [, other] = tokenOf(keyOf(stage), { sub: "else" }).split(".")
      await refuses(stage, `${head}.${other}.${signature}`, /signature/i, "other claims")
    },
    key,
  )
  .rule(
    "token.issuer",
    "`iss` is the API key.",
    async (stage) => {
      await refuses(stage, tokenOf(keyOf(stage), { iss: "nobody" }), /key/i, "an unknown key")
      await refuses(stage, tokenOf(keyOf(stage), { iss: "__proto__" }), /key/i, "a name of every object")
      await refuses(stage, tokenOf(keyOf(stage), { iss: undefined }), /key/i, "no issuer")
    },
    key,
  )
  .rule(
    "token.expiry",
    "`exp` is required; there is 60 s of leeway.",
    async (stage) => {
      const now = Math.floor(Date.now() / 1000)
      await refuses(stage, tokenOf(keyOf(stage), { exp: undefined }), /expir/i, "no exp")
      await refuses(stage, tokenOf(keyOf(stage), { exp: now - 90 }), /expired/i, "90 s ago")
      await accepts(stage, tokenOf(keyOf(stage), { exp: now - 30 }), "30 s ago")
    },
    key,
  )
  .rule(
    "token.grant",
    "The grant is `agent.databaseAdmin: true` in the claims; without it `unauthenticated`, with a message that says so.",
    async (stage) => {
      for (const agent of [
        undefined,
        null,
        {},
        { databaseAdmin: false },
        { databaseAdmin: "true" },
        { databaseAdmin: 1 },
      ]) {
        await refuses(stage, tokenOf(keyOf(stage), { agent }), /grant/i, JSON.stringify(agent) ?? "no agent")
      }
    },
    key,
  )
  .rule(
    "token.projects",
    "Projects never see each other's databases.",
    async (stage) => {
      const { otherProject, management } = stage.target
      if (!otherProject) return
      const mine = await stage.database()
      const theirs = otherProject.management
      const peer = await stage.socket()
      refused(await peer.hello(await stage.token(otherProject.token), mine), "not_found", "Hello")
      await fails(theirs.getDatabase(mine), "not_found", "GetDatabase")
      await fails(theirs.dumpDatabase(mine), "not_found", "DumpDatabase")
      await fails(theirs.deleteDatabase(mine), "not_found", "DeleteDatabase")
      const { databases } = await theirs.listDatabases({ pageSize: 1_000 })
      holds(!databases.some(({ databaseId }) => databaseId === mine), "a list without it", databases.length)
      same((await management.getDatabase(mine)).databaseId, mine)
    },
    otherProject,
  ).rules
