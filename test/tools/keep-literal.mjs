/**
 * Bundlers of our users find files by certain expressions, written just so. Vite, which bundles here, would rewrite
 * them, and its minifier too: so a placeholder stands for one until the very end.
 * @param {string} literal @param {string} placeholder
 * @returns {import("vite").Plugin}
 */
export function keepLiteral(literal, placeholder) {
  return {
    name: "keep-literal",
    enforce: "pre",
    transform: (code) => (code.includes(literal) ? code.replaceAll(literal, placeholder) : undefined),
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        if (file.type !== "chunk") continue
        if (!file.code.includes(placeholder)) throw new Error(`${file.fileName} does not say ${literal}`)
        file.code = file.code.replaceAll(placeholder, literal)
      }
    },
  }
}
