import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { expect, test } from "@playwright/test"
import { canMeasureMemory, treeOf } from "../fixtures/memory.ts"
import { inRoot } from "../tools/paths.mjs"

/** `npm start`, without npm. */
function start(port: number) {
  const child = spawn(process.execPath, [inRoot("test/tools/start.mjs")], {
    env: { ...process.env, PORT: String(port) },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const said = { text: "" }
  const ended = once(child, "close")
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said.text += text
    })
  }
  return { child, said, ended }
}

test("npm start serves the demo and its snapshots from one process, and ends when told", async () => {
  test.setTimeout(180_000)
  const { child, said, ended } = start(0)
  try {
    await expect.poll(() => said.text, { timeout: 150_000 }).toMatch(/Ctrl-C ends it/)
    const url = /http:\/\/localhost:\d+\//.exec(said.text)?.[0] ?? ""
    expect(await (await fetch(url)).text()).toContain("<title>agentdb-web")
    expect(Array.isArray(await (await fetch(`${url}snapshots/`)).json())).toBe(true)
    if (canMeasureMemory) expect(treeOf(child.pid ?? 0)).toEqual([child.pid])
    child.kill("SIGTERM")
    expect(await ended).toEqual([0, null])
    await expect(fetch(url)).rejects.toThrow()
  } finally {
    child.kill("SIGKILL")
  }
})

test("npm start says that its port is taken, and which other to choose", async () => {
  const other = createServer()
  await once(other.listen(0, "127.0.0.1"), "listening")
  const { port } = other.address() as AddressInfo
  const { said, ended } = start(port)
  expect(await ended).toEqual([1, null])
  expect(said.text).toBe(`Port ${port} is in use. Choose another: PORT=${port + 1} npm start\n`)
  other.close()
})
