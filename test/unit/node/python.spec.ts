import { execFile, execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "@playwright/test"
import { startServer } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"
import { inRoot } from "../../tools/paths.mjs"

const run = promisify(execFile)

const packages = ["python3-aiohttp", "python3-protobuf", "protobuf-compiler"]

/** A Python that has what the client needs, installed where that is allowed. */
function findPython(): string | undefined {
  const isDebian = /^ID=debian$/m.test(read("/etc/os-release"))
  const found = usablePython()
  if (found || process.getuid?.() !== 0 || !isDebian) return found
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" }
  const apt = (...args: string[]) =>
    execFileSync("apt-get", ["-q", "-o", "DPkg::Lock::Timeout=120", ...args], { env, stdio: "ignore" })
  try {
    apt("update")
    apt("install", "-y", "--no-install-recommends", ...packages)
  } catch {
    // Told below.
  }
  return usablePython()
}

/** Debian's packages are those of its own Python, before which another may come in PATH. */
function usablePython(): string | undefined {
  const runs = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: "ignore" }).status === 0
  if (!runs("protoc", "--version")) return undefined
  return ["python3", "/usr/bin/python3"].find((python) => runs(python, "-c", "import aiohttp, google.protobuf"))
}

function read(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

test("a client in Python, with aiohttp and protoc's own code, does everything", async () => {
  test.setTimeout(300_000)
  const python = findPython()
  const reason = `no ${packages.join(", ")} here, and they could not be installed`
  if (!python) console.log(`skipped: ${reason}`)
  test.skip(!python, reason)
  await using server = await startServer()
  const folder = mkdtempSync(join(tmpdir(), "agentdb-python-"))
  try {
    await run("protoc", [`--proto_path=${inRoot("proto")}`, `--python_out=${folder}`, "livekit_agentdb.proto"])
    const client = inRoot("test/fixtures/aiohttp-client.py")
    const { stdout } = await run(python as string, [client, folder, server.wsUrl, token(), server.databaseId])
    expect(JSON.parse(stdout)).toEqual({
      hello: 5000,
      tip: 1,
      insert: [1, 7],
      columns: ["v", "type"],
      rows: [
        [null, "null"],
        [Number(-(2n ** 63n)), "integer"],
        [1.5, "real"],
        ["a\u0000é😀", "text"],
        [{ hex: "00ff" }, "blob"],
        ["", "text"],
        [{ hex: "" }, "blob"],
      ],
      total: 7,
      many: ["done", 500_000],
      batch: ["exec_result", "columns", "column_batch", "done"],
      failure: ["SQLITE_ERROR", "statement 1: no such table: nope"],
      cancel: [true, "canceled"],
      pong: 42,
      "hello again": 9,
      "still there": [[5]],
      "too big": ["closed"],
      "close code": 1009,
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
