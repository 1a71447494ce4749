import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"

const file = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** The demo, over dist/ as an application gets it. */
export default defineConfig({
  root: file("demo"),
  resolve: {
    alias: [
      { find: /^agentdb-web$/, replacement: file("dist/index.js") },
      { find: /^agentdb-web\/(.+)$/, replacement: file("dist/$1/index.js") },
    ],
  },
  // dist/ is beside the demo's folder, not below it.
  server: { fs: { allow: [file(".")] } },
  build: { outDir: file(".demo-dist"), emptyOutDir: true, target: "es2022" },
})
