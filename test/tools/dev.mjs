import { ensureInstalled } from "./install.mjs"
import { inRoot } from "./paths.mjs"

ensureInstalled()
const { withBuildLock } = await import("./lock.mjs")
const { buildPackage } = await import("./build-package.mjs")
const { openSnapshotStore } = await import("./snapshot-store.mjs")
const { createServer } = await import("vite")

const answer = await openSnapshotStore(inRoot(".snapshots"))
/** @type {import("vite").Plugin} */
const snapshots = {
  name: "snapshots",
  configureServer({ middlewares }) {
    middlewares.use(async (request, response, next) => {
      if (!(await answer(request, response))) next()
    })
  },
}

await withBuildLock(() => buildPackage({ types: "warn" }))
const port = Number(process.env.PORT || 5173)
const server = await createServer({ configFile: inRoot("vite.config.ts"), server: { port }, plugins: [snapshots] })
await server.listen()
// It reloads by itself, also when `npm run build` in another terminal has made dist/ anew.
server.printUrls()
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void server.close())
