import { createRequire } from "node:module"

/** A CommonJS package that whoever installed this one may not have; undefined then. Synchronous, unlike an import. */
export function optionalPackage<T>(name: string): T | undefined {
  try {
    return createRequire(import.meta.url)(name) as T
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return undefined
    throw error
  }
}
