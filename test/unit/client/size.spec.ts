import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { expect, test } from "@playwright/test"
import { build } from "vite"

const entry = fileURLToPath(new URL("../../../src/client/index.ts", import.meta.url))
const names = "connect, AgentDBServiceClient, AgentDBError, real, splitStatements, sql, ValueType"

/** What an application ships that imports these names. */
async function bundled(): Promise<string> {
  const id = "\0application"
  const result = await build({
    configFile: false,
    logLevel: "silent",
    plugins: [
      {
        name: "application",
        resolveId: (source) => (source === "application" ? id : null),
        load: (source) => (source === id ? `export { ${names} } from ${JSON.stringify(entry)}` : null),
      },
    ],
    build: {
      write: false,
      minify: true,
      target: "es2022",
      rolldownOptions: { input: "application", preserveEntrySignatures: "strict", output: { format: "esm" } },
    },
  })
  const [output] = Array.isArray(result) ? result : [result]
  if (!output || !("output" in output)) throw new Error("nothing was built")
  return output.output.map((chunk) => (chunk.type === "chunk" ? chunk.code : "")).join("")
}

test("the client stays small", async () => {
  const code = await bundled()
  const kilobytes = gzipSync(code, { level: 9 }).byteLength / 1024
  console.log(`${kilobytes.toFixed(1)} KB gzipped`)
  // An empty bundle would be small too.
  expect(code).toContain("livekit.AgentDBService")
  expect(kilobytes).toBeLessThanOrEqual(25)
})
