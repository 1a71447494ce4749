import { expect, test } from "@playwright/test"
import { createServer } from "vite"
import { SampleProject } from "../fixtures/sample-project.ts"

const index = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>hot reload</title><link rel="icon" href="data:,"></head>
<body><div id="root"></div><script type="module" src="/main.js"></script></body></html>
`

const main = `import { createElement, StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { App } from "./app.js"

const root = createRoot(document.querySelector("#root"))
const show = (component) => root.render(createElement(StrictMode, null, createElement(component)))
show(App)
import.meta.hot.accept("./app.js", (module) => show(module.App))
`

/** A component that opens the service while it is shown, and notes each time that it was. */
const app = (edition: number, kept: string) => `import { createElement, useEffect, useState } from "react"
import { openAgentDB } from "agentdb-web"

${kept}
export function App() {
  const [text, setText] = useState("")
  useEffect(() => {
    let isOver = false
    const opening = openAgentDB()
    async function note() {
      const agentdb = await opening
      if (isOver) return
      const [known] = (await agentdb.listDatabases()).databases
      const { databaseId } = known ?? (await agentdb.createDatabase())
      const db = await agentdb.connect(databaseId)
      await db.exec("CREATE TABLE IF NOT EXISTS shown(edition)")
      await db.exec("INSERT INTO shown VALUES (?)", [${edition}])
      const rows = await db.query("SELECT edition FROM shown").all()
      setText(rows.map((row) => row.edition).join() + " on " + agentdb.status.storage + ", " + agentdb.status.role)
    }
    note().catch((error) => setText(String(error)))
    return () => {
      isOver = true
      opening.then((agentdb) => agentdb.close())
    }
  }, [])
  return createElement("output", null, text)
}
`

/** How the module that is edited keeps the service: by its component only, or by a handle that nobody closes. */
const ways = {
  "closed with its component": { kept: "", most: 4 },
  "opened by a module that never closes it": { kept: "export const handle = openAgentDB()", most: 1 },
}

for (const [way, { kept, most }] of Object.entries(ways)) {
  test(`React's StrictMode and hot reload keep one worker, for a service that is ${way}`, async ({ page }) => {
    const files = new Map([
      ["index.html", index],
      ["main.js", main],
      ["app.js", app(1, kept)],
    ])
    using project = await SampleProject.create({ files, commands: [] })
    await project.install(["vite", "react", "react-dom"], false)
    const server = await createServer({ configFile: false, root: project.folder, logLevel: "error" })
    try {
      await server.listen()
      let started = 0
      const complaints: string[] = []
      page.on("worker", () => {
        started++
        complaints.push(...(page.workers().length > 1 ? ["two workers at a time"] : []))
      })
      page.on("pageerror", (error) => complaints.push(error.message))
      page.on("console", (message) => message.type() === "error" && complaints.push(message.text()))
      await page.goto(server.resolvedUrls?.local[0] ?? "")
      let loads = 0
      page.on("load", () => loads++)
      for (let edition = 1; edition <= 4; edition++) {
        // Vite's watcher drops a change within 50 ms of the one before, which no person makes.
        if (edition > 1) await page.waitForTimeout(300)
        if (edition > 1) project.write("app.js", app(edition, kept))
        const shown = Array.from({ length: edition }, (_, i) => i + 1).join()
        await expect(page.locator("output")).toHaveText(`${shown} on opfs, leader`, { timeout: 30_000 })
        expect(page.workers()).toHaveLength(1)
      }
      expect(loads).toBe(0)
      expect(started).toBeLessThanOrEqual(most)
      expect(complaints).toEqual([])
    } finally {
      await server.close()
    }
  })
}
