/**
 * What `using` and `await using` look for. Engines without the well-known symbols (WebKit) get the ones that
 * bundlers and compilers put in their place.
 */
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose")
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose")
