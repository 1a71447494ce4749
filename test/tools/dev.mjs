import { ensureInstalled } from "./install.mjs"
import { inRoot } from "./paths.mjs"

ensureInstalled()
const { withBuildLock } = await import("./lock.mjs")
const { buildPackage } = await import("./build-package.mjs")
const { createServer } = await import("vite")

await withBuildLock(() => buildPackage({ types: "warn" }))
const port = Number(process.env.PORT || 5173)
const server = await createServer({ configFile: inRoot("vite.config.ts"), server: { port } })
await server.listen()
// It reloads by itself, also when `npm run build` in another terminal has made dist/ anew.
server.printUrls()
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void server.close())
