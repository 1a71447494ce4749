#!/usr/bin/env node
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { AgentDBError } from "../wire/errors.ts"
import { developmentKeys, type Keys } from "../wire/jwt.ts"
import { resolveLimits } from "../wire/limits.ts"
import { checkConformance } from "./check-conformance.ts"
import { serveAgentDB } from "./index.ts"
import { parseKeys } from "./keys.ts"
import type { Log } from "./log.ts"

const defaultPort = 7880

const help = `agentdb-web serve [options]

Serves AgentDB on this machine, with its databases in memory: they are gone when it ends.

  --port <number>            default ${defaultPort}; 0 takes any free one
  --host <address>           default 127.0.0.1; 0.0.0.0 lets other machines in
  --keys <key:secret,...>    API keys; default devkey:secret

agentdb-web conformance [options]

Holds a running AgentDB against every rule of the protocol, and prints what it did instead where it
deviates. Ends with 1 if it does. It creates databases there, and deletes them again.

  --url <ws://...>           its socket; default ws://127.0.0.1:${defaultPort}/db
  --keys <key:secret,...>    an API key of it, and for more rules one of another project; default devkey:secret
  --limits <name=number,...> limits that differ from the protocol's defaults
  --only <id,...>            some rules, or parts such as hello

  --help                     this text
  --version                  the version of the package
`

/** What is wrong with the command line. */
class UsageError extends Error {}

function readArguments(args: string[]) {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        port: { type: "string" },
        host: { type: "string" },
        keys: { type: "string" },
        url: { type: "string" },
        limits: { type: "string" },
        only: { type: "string" },
        help: { type: "boolean", short: "h", default: false },
        version: { type: "boolean", default: false },
      },
    })
    return { ...values, positionals }
  } catch (error) {
    // It names the flag; what follows there is advice for programmers.
    throw new UsageError(error instanceof Error ? error.message.split(". ")[0] : String(error))
  }
}

type Arguments = ReturnType<typeof readArguments>

/** Which options each command takes. */
const commands = {
  serve: ["port", "host", "keys"],
  conformance: ["url", "keys", "limits", "only"],
} as const

function commandOf({ positionals, ...given }: Arguments): keyof typeof commands {
  const [command, ...more] = positionals
  if (command !== "serve" && command !== "conformance") {
    throw new UsageError(command ? `Unknown command '${command}'` : "A command is missing")
  }
  if (more.length > 0) throw new UsageError(`Unexpected argument '${more[0]}'`)
  const taken: readonly string[] = commands[command]
  for (const name of ["port", "host", "url", "limits", "only"] as const) {
    if (given[name] !== undefined && !taken.includes(name)) throw new UsageError(`'${command}' takes no --${name}`)
  }
  return command
}

function readKeys({ keys }: Arguments): Keys {
  if (keys === undefined) return developmentKeys
  try {
    return parseKeys(keys)
  } catch (error) {
    throw new UsageError(AgentDBError.from(error).message)
  }
}

function readServeOptions(args: Arguments) {
  const { port = String(defaultPort), host = "127.0.0.1" } = args
  const number = Number(port)
  if (!/^\d+$/.test(port) || number > 65_535) throw new UsageError(`--port: '${port}' is not a number from 0 to 65535`)
  return { port: number, host, keys: readKeys(args) }
}

function protocolOf(url: string): string {
  return URL.canParse(url) ? new URL(url).protocol : ""
}

function readConformanceOptions(args: Arguments) {
  const { url = `ws://127.0.0.1:${defaultPort}/db`, limits, only } = args
  if (!/^wss?:$/.test(protocolOf(url))) {
    throw new UsageError(`--url: '${url}' is no ws: or wss: address`)
  }
  try {
    const parts = limits?.split(",").map((part) => part.trim().split("=")) ?? []
    const given = resolveLimits(Object.fromEntries(parts.map(([name, value]) => [name, Number(value)])))
    return { url, keys: readKeys(args), limits: given, only: only?.split(",").map((id) => id.trim()) }
  } catch (error) {
    throw error instanceof UsageError ? error : new UsageError(`--limits: ${AgentDBError.from(error).message}`)
  }
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  return String(version)
}

const stamped = (line: string) => `${new Date().toISOString()} ${line}`
const log: Log = { info: (line) => console.log(stamped(line)), warn: (line) => console.error(stamped(line)) }

async function serve(options: ReturnType<typeof readServeOptions>): Promise<void> {
  const server = await serveAgentDB({ ...options, log })
  const names = Object.keys(options.keys).join(", ")
  const isDefault = options.keys === developmentKeys
  console.log(`AgentDB, version ${version()}; databases are in memory`)
  console.log(`  management  ${server.url}/twirp/`)
  console.log(`  sockets     ${server.wsUrl}`)
  console.log(`  API keys    ${names}${isDefault ? ' (with the secret "secret": for local use only)' : ""}`)
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    // A second one ends the process in the system's own way.
    process.once(signal, () => {
      log.info(`${signal}: closing`)
      server.close().then(
        () => log.info("closed"),
        (error: unknown) => log.warn(`could not close: ${AgentDBError.from(error).message}`),
      )
    })
  }
}

/** A RangeError is the kit's: for a rule that there is not. */
const isMistake = (error: unknown): error is Error => error instanceof UsageError || error instanceof RangeError

function explain(error: unknown): string {
  if (error instanceof UsageError || error instanceof RangeError)
    return `${error.message}\nagentdb-web --help tells what there is.`
  const { message, cause } = AgentDBError.from(error)
  const isBusy = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
  return isBusy ? `${message}\nChoose another port with --port.` : message
}

try {
  const args = readArguments(process.argv.slice(2))
  if (args.help) process.stdout.write(help)
  else if (args.version) console.log(version())
  else if (commandOf(args) === "serve") await serve(readServeOptions(args))
  else process.exitCode = (await checkConformance(readConformanceOptions(args), console.log)) ? 0 : 1
} catch (error) {
  console.error(explain(error))
  process.exitCode = isMistake(error) ? 2 : 1
}
