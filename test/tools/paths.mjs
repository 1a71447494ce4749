import { join, resolve } from "node:path"

/** The repository's top folder. */
export const root = resolve(import.meta.dirname, "../..")

/** What tools make and may be deleted at any time. */
export const cache = join(root, "node_modules/.cache/agentdb-web")

/** A path below the top folder. @param {string[]} parts */
export const inRoot = (...parts) => join(root, ...parts)
