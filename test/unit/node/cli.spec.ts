import { expect, test } from "@playwright/test"
import { Cli } from "../../fixtures/cli.ts"
import { createDatabase, socketPeer } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"

// The first of them may build the package.
test.describe.configure({ timeout: 180_000 })

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  test(`serve tells where it is and what happens, and closes everything at ${signal}`, async () => {
    using cli = await Cli.start("serve", "--port", "0")
    const { url, wsUrl } = await cli.address()
    await cli.said(/API keys +devkey \(with the secret "secret": for local use only\)/)
    const databaseId = await createDatabase({ url })
    const { peer } = socketPeer(wsUrl)
    await peer.hello(token(), databaseId)
    await cli.said(/socket 1 opened from 127\.0\.0\.1 port \d+/)
    const refused = socketPeer(wsUrl).peer
    await refused.hello("nonsense", databaseId)
    await cli.said(/socket 2 closed with 1008: the Hello was refused/)
    cli.child.kill(signal)
    expect(await peer.closed).toMatchObject({ code: 1001 })
    expect(await cli.exit).toBe(0)
    expect(cli.out).toMatch(/socket 1 closed with 1001.*\n.* closed\n$/)
    expect(cli.err).toBe("")
  })
}

test("--keys replaces the development key, and the log repeats no secret", async () => {
  using cli = await Cli.start("serve", "--port=0", "--keys", "one:hidden:1, two:hidden2", "--host", "localhost")
  const { url } = await cli.address()
  const list = (key: string, secret: string) =>
    fetch(`${url}/twirp/livekit.AgentDBService/ListDatabases`, {
      method: "POST",
      body: "{}",
      headers: { "content-type": "application/json", authorization: `Bearer ${token(key, secret)}` },
    })
  expect((await list("one", "hidden:1")).status).toBe(200)
  expect((await list("two", "hidden2")).status).toBe(200)
  expect((await list("devkey", "secret")).status).toBe(401)
  await cli.said(/API keys +one, two\n/)
  expect(cli.out + cli.err).not.toContain("hidden")
})

test("a busy port is told as such", async () => {
  using first = await Cli.start("serve", "--port", "0")
  const { port } = new URL((await first.address()).url)
  using second = await Cli.start("serve", "--port", port)
  expect(await second.exit).toBe(1)
  expect(second.err).toContain(`cannot listen on 127.0.0.1 port ${port}`)
  expect(second.err).toContain("--port")
  expect(second.err).not.toContain("at ")
})

const mistakes: [string[], string][] = [
  [["serve", "--prot", "1"], "Unknown option '--prot'"],
  [["serve", "--port", "99999"], "--port: '99999' is not a number from 0 to 65535"],
  [["serve", "--port", "x"], "--port: 'x' is not a number"],
  [["serve", "--keys", "nosecret"], "--keys: pair 1 is not of the form key:secret"],
  [["serve", "--keys", "a:b,a:c"], "--keys: a key is there twice"],
  [["serve", "more"], "Unexpected argument 'more'"],
  [["serve", "--only", "hello"], "'serve' takes no --only"],
  [["conformance", "--port", "1"], "'conformance' takes no --port"],
  [["conformance", "--url", "http://localhost/db"], "--url: 'http://localhost/db' is no ws: or wss: address"],
  [["conformance", "--limits", "nope=1"], "--limits: unknown limit nope"],
  [["conformance", "--only", "nothing"], "no rule nothing"],
  [["start"], "Unknown command 'start'"],
  [[], "A command is missing"],
]
test("mistakes on the command line are named, with exit code 2", async () => {
  for (const [args, message] of mistakes) {
    using cli = await Cli.start(...args)
    expect(await cli.exit, args.join(" ")).toBe(2)
    expect(cli.err).toContain(message)
    expect(cli.err).toContain("--help")
    expect(cli.out).toBe("")
  }
})

test("conformance holds a running server against the protocol, and ends with 1 where it deviates", async () => {
  using server = await Cli.start("serve", "--port", "0", "--keys", "one:secret1,two:secret2")
  const { wsUrl } = await server.address()
  const check = ["conformance", "--url", wsUrl, "--keys", "one:secret1,two:secret2", "--only"]
  using good = await Cli.start(...check, "hello.first,hello.ok,token,transport.no-extras,twirp.json")
  expect(await good.exit, good.out + good.err).toBe(0)
  expect(good.out).toMatch(/ok +hello\.first +Hello comes first/)
  expect(good.out).toMatch(/\n12 passed, 0 failed, 0 not applicable\n$/)
  using bad = await Cli.start(...check, "hello.ok", "--limits", "pingIntervalMs=1")
  expect(await bad.exit).toBe(1)
  expect(bad.out).toMatch(/FAIL +hello\.ok[\s\S]*expected: .*"pingIntervalMs":1,[\s\S]*got: .*"pingIntervalMs":5000,/)
})

test("--help and --version", async () => {
  using help = await Cli.start("--help")
  expect(await help.exit).toBe(0)
  for (const flag of ["--port", "--host", "--keys"]) expect(help.out).toContain(flag)
  using version = await Cli.start("--version")
  expect(await version.exit).toBe(0)
  expect(version.out).toMatch(/^\d+\.\d+\.\d+\S*\n$/)
})
