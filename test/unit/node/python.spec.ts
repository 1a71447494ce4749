import { execFile, spawnSync } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { expect, test } from "@playwright/test"
import { client } from "../../fixtures/client-tag.ts"
import { startServer } from "../../fixtures/node-server.ts"
import { token } from "../../fixtures/service.ts"
import { canInstallDebian, installDebian } from "../../tools/debian.mjs"
import { inRoot } from "../../tools/paths.mjs"

const run = promisify(execFile)

const packages = ["python3-aiohttp", "python3-protobuf", "protobuf-compiler"]

/** A Python that has what the client needs, installed where that is allowed. */
function findPython(): string | undefined {
  const found = usablePython()
  if (found || !canInstallDebian()) return found
  installDebian(...packages)
  return usablePython()
}

/** Debian's packages are those of its own Python, before which another may come in PATH. */
function usablePython(): string | undefined {
  const runs = (program: string, ...args: string[]) => spawnSync(program, args, { stdio: "ignore" }).status === 0
  if (!runs("protoc", "--version")) return undefined
  return ["python3", "/usr/bin/python3"].find((python) => runs(python, "-c", "import aiohttp, google.protobuf"))
}

test("a client in Python, with aiohttp and protoc's own code, does everything", client("python-aiohttp"), async () => {
  test.setTimeout(300_000)
  const python = findPython()
  test.skip(!python, `no ${packages.join(", ")} here, and they could not be installed`)
  await using server = await startServer()
  const folder = mkdtempSync(join(tmpdir(), "agentdb-python-"))
  try {
    await run("protoc", [`--proto_path=${inRoot("proto")}`, `--python_out=${folder}`, "livekit_agentdb.proto"])
    const args = [inRoot("test/fixtures/aiohttp-client.py"), folder, server.wsUrl, token(), server.databaseId]
    // So that a server it waits for in vain is told as such.
    const { stdout } = await run(python as string, args, { timeout: 120_000 })
    expect(JSON.parse(stdout)).toEqual({
      extras: [0, null],
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
      text: 1003,
      refused: ["unauthenticated", 1008],
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
