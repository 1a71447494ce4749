import { strictPolicy } from "../fixtures/server.ts"

/** How somebody puts this package into a page. */
export interface Setup {
  readonly name: string
  readonly files: Readonly<Record<string, string>>
  /** From the registry, beside this package. Those of an everyday setup are this repository's own. */
  readonly packages: readonly string[]
  readonly build?: string
  /** The folder that is served when `build` is done. */
  readonly served?: string
  /** A server of the tool's own, in place of a folder; it gets a port by `PORT`. */
  readonly serve?: string
  /** Where the page is, on that server. */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Runs in every `npm test`; the others in `npm run test:bundlers`. */
  readonly everyday?: true
}

/** Opens a database and shows what answered; the same lines in every setup. */
const ask = `const agentdb = await openAgentDB()
  const { databaseId } = await agentdb.createDatabase()
  const db = await agentdb.connect(databaseId)
  const { version } = await db.query("SELECT sqlite_version() AS version").first()
  return version + " on " + agentdb.status.storage`

const script = `import { openAgentDB } from "agentdb-web"
async function ask() {
  ${ask}
}
const output = document.querySelector("output")
ask().then((answer) => { output.textContent = answer }, (error) => { output.textContent = String(error) })
`

const page = (src: string, head = "") => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>setup</title><link rel="icon" href="data:,">${head}</head>
<body><output></output><script type="module" src="${src}"></script></body></html>
`

const react = `"use client"
import { useEffect, useState } from "react"
import { openAgentDB } from "agentdb-web"

export default function Version() {
  const [answer, setAnswer] = useState("")
  useEffect(() => {
    async function ask() {
      ${ask}
    }
    ask().then(setAnswer, (error) => setAnswer(String(error)))
  }, [])
  return <output>{answer}</output>
}
`

const importMap = JSON.stringify({
  imports: {
    "agentdb-web": "/node_modules/agentdb-web/dist/index.js",
    comlink: "/node_modules/comlink/dist/esm/comlink.mjs",
    "@bufbuild/protobuf": "/node_modules/@bufbuild/protobuf/dist/esm/index.js",
    "@bufbuild/protobuf/wire": "/node_modules/@bufbuild/protobuf/dist/esm/wire/index.js",
    "@bufbuild/protobuf/codegenv2": "/node_modules/@bufbuild/protobuf/dist/esm/codegenv2/index.js",
    "@noble/hashes/": "/node_modules/@noble/hashes/",
  },
})

const vitePage = { "index.html": page("/main.js"), "main.js": script }

export const setups: readonly Setup[] = [
  {
    name: "no bundler, by an import map",
    files: { "index.html": page("./main.js", `<script type="importmap">${importMap}</script>`), "main.js": script },
    packages: [],
    served: ".",
    everyday: true,
  },
  {
    name: "Vite, built under a base path",
    files: vitePage,
    packages: ["vite@8.3.8"],
    build: "npx vite build --base /sub/path/ --outDir site/sub/path --logLevel warn",
    served: "site",
    path: "/sub/path/",
    everyday: true,
  },
  {
    name: "Vite, built, under a strict content security policy",
    files: vitePage,
    packages: ["vite@8.3.8"],
    build: "npx vite build --logLevel warn",
    served: "dist",
    headers: { "content-security-policy": strictPolicy },
    everyday: true,
  },
  {
    name: "Vite's development server, with its pre-bundling of dependencies",
    files: vitePage,
    packages: ["vite@8.3.8"],
    serve: "npx vite --port $PORT --strictPort --host 127.0.0.1",
    everyday: true,
  },
  {
    name: "webpack 5",
    files: {
      "site/index.html": page("./main.js"),
      "src/index.js": script,
      "webpack.config.js":
        'import { resolve } from "node:path"\nexport default { mode: "production", output: { path: resolve("site") } }\n',
    },
    packages: ["webpack@5", "webpack-cli@6"],
    build: "npx webpack",
    served: "site",
  },
  {
    name: "esbuild",
    files: { "site/index.html": page("./main.js"), "main.js": script },
    packages: ["esbuild@0.28"],
    build: "npx esbuild main.js --bundle --format=esm --minify --outfile=site/main.js",
    served: "site",
  },
  {
    name: "Rollup",
    files: { "site/index.html": page("./main.js"), "main.js": script },
    packages: ["rollup@4", "@rollup/plugin-node-resolve@16"],
    build: "npx rollup main.js --plugin node-resolve --format es --file site/main.js",
    served: "site",
  },
  {
    name: "Parcel",
    files: { "index.html": page("./main.js"), "main.js": script },
    packages: ["parcel@2"],
    build: "npx parcel build index.html --dist-dir site --no-cache",
    served: "site",
  },
  {
    name: "Next.js, production build, server rendering",
    files: {
      "app/layout.jsx":
        "export default function Layout({ children }) { return <html lang='en'><head><link rel='icon' href='data:,' /></head><body>{children}</body></html> }\n",
      "app/page.jsx":
        "import Version from './version'\nexport const dynamic = 'force-dynamic'\nexport default function Page() { return <main><h1>Rendered on the server</h1><Version /></main> }\n",
      "app/version.jsx": react,
    },
    packages: ["next@16", "react@19", "react-dom@19"],
    build: "npx next build",
    serve: "npx next start --port $PORT --hostname 127.0.0.1",
  },
  {
    name: "SvelteKit, production build, server rendering",
    files: {
      "svelte.config.js":
        "import adapter from '@sveltejs/adapter-node'\nexport default { kit: { adapter: adapter() } }\n",
      "vite.config.js": "import { sveltekit } from '@sveltejs/kit/vite'\nexport default { plugins: [sveltekit()] }\n",
      "src/app.html":
        "<!doctype html><html lang='en'><head><link rel='icon' href='data:,'>%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n",
      "src/routes/+page.svelte": `<script>
import { onMount } from "svelte"
import { openAgentDB } from "agentdb-web"
let answer = $state("")
async function ask() {
  ${ask}
}
onMount(() => { ask().then((text) => { answer = text }, (error) => { answer = String(error) }) })
</script>
<output>{answer}</output>
`,
    },
    packages: [
      "@sveltejs/kit@2",
      "@sveltejs/adapter-node@5",
      "@sveltejs/vite-plugin-svelte@7",
      "svelte@5",
      "vite@8.3.8",
    ],
    build: "npx vite build",
    serve: "HOST=127.0.0.1 node build",
  },
]
