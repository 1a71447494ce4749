#!/usr/bin/env node
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { AgentDBError } from "../wire/errors.ts"
import { developmentKeys } from "../wire/jwt.ts"
import { serveAgentDB } from "./index.ts"
import { parseKeys } from "./keys.ts"
import type { Log } from "./log.ts"

const defaultPort = 7880

const help = `agentdb-web serve [options]

Serves AgentDB on this machine, with its databases in memory: they are gone when it ends.

  --port <number>            default ${defaultPort}; 0 takes any free one
  --host <address>           default 127.0.0.1; 0.0.0.0 lets other machines in
  --keys <key:secret,...>    API keys; default devkey:secret
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
        port: { type: "string", default: String(defaultPort) },
        host: { type: "string", default: "127.0.0.1" },
        keys: { type: "string" },
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

function readOptions({ positionals, port, host, keys }: ReturnType<typeof readArguments>) {
  const [command, ...more] = positionals
  if (command !== "serve") throw new UsageError(command ? `Unknown command '${command}'` : "A command is missing")
  if (more.length > 0) throw new UsageError(`Unexpected argument '${more[0]}'`)
  const number = Number(port)
  if (!/^\d+$/.test(port) || number > 65_535) throw new UsageError(`--port: '${port}' is not a number from 0 to 65535`)
  if (keys === undefined) return { port: number, host, keys: developmentKeys }
  try {
    return { port: number, host, keys: parseKeys(keys) }
  } catch (error) {
    throw new UsageError(AgentDBError.from(error).message)
  }
}

function version(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"))
  return String(version)
}

const stamped = (line: string) => `${new Date().toISOString()} ${line}`
const log: Log = { info: (line) => console.log(stamped(line)), warn: (line) => console.error(stamped(line)) }

async function serve(options: ReturnType<typeof readOptions>): Promise<void> {
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

function explain(error: unknown): string {
  if (error instanceof UsageError) return `${error.message}\nagentdb-web --help tells what there is.`
  const { message, cause } = AgentDBError.from(error)
  const isBusy = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE"
  return isBusy ? `${message}\nChoose another port with --port.` : message
}

try {
  const args = readArguments(process.argv.slice(2))
  if (args.help) process.stdout.write(help)
  else if (args.version) console.log(version())
  else await serve(readOptions(args))
} catch (error) {
  console.error(explain(error))
  process.exitCode = error instanceof UsageError ? 2 : 1
}
