import { ensureInstalled } from "./install.mjs"
import { inRoot } from "./paths.mjs"

const port = Number(process.env.PORT || 5173)

ensureInstalled()
const { withBuildLock } = await import("./lock.mjs")
const { buildPackage } = await import("./build-package.mjs")
const { serveFolder } = await import("./static-server.mjs")
const { openSnapshotStore } = await import("./snapshot-store.mjs")
const { build } = await import("vite")

try {
  // Before the build, so that nobody waits for it to learn that the port is taken.
  await (await serveFolder(inRoot("demo"), { port })).close()
  await withBuildLock(async () => {
    await buildPackage({ types: "warn" })
    console.log("Building the demo ...")
    await build({ configFile: inRoot("vite.config.ts"), logLevel: "warn" })
  })
  const before = await openSnapshotStore(inRoot(".snapshots"))
  const server = await serveFolder(inRoot(".demo-dist"), { port, before })
  console.log(`\nThe demo is at http://localhost:${server.port}/ (Ctrl-C ends it)`)
  console.log("Snapshots that it pushes are kept in .snapshots/")
  for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void server.close())
} catch (error) {
  console.error(explain(error))
  process.exitCode = 1
}

/** @param {unknown} error */
function explain(error) {
  const busy = error instanceof Error && "code" in error && error.code === "EADDRINUSE"
  if (busy) return `Port ${port} is in use. Choose another: PORT=${port + 1} npm start`
  return error instanceof Error ? error.message : error
}
