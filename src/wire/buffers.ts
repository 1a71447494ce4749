/** By its tag: a frame may come from another realm, such as an iframe's, or Node's own where tests run in jsdom. */
export const isArrayBuffer = (value: unknown): value is ArrayBuffer =>
  Object.prototype.toString.call(value) === "[object ArrayBuffer]"
