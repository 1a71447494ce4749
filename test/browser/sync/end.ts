import type { CutProxy } from "../../fixtures/cut-proxy.ts"
import { ObjectStore } from "../../fixtures/object-store.ts"
import { TusStore } from "../../fixtures/tus-store.ts"
import type { Target } from "./pushing.ts"

/** The other end of pushes, as tests that run over each sink see it. */
export interface End extends AsyncDisposable {
  readonly proxy: CutProxy
  target(): Promise<Target>
  /** Every snapshot that whoever looks there takes for complete. */
  complete(): Promise<Uint8Array[]>
}

export const ends: Readonly<Record<Target["sink"], () => Promise<End>>> = {
  async presignedPut() {
    const store = await ObjectStore.start()
    return {
      proxy: store.proxy,
      target: async () => ({ sink: "presignedPut", url: await store.signPut(), head: await store.signHead() }),
      async complete() {
        const bytes = await store.read()
        return bytes ? [bytes] : []
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }
  },
  async tus() {
    const store = await TusStore.start()
    return {
      proxy: store.proxy,
      target: async () => ({ sink: "tus", endpoint: store.endpoint }),
      async complete() {
        const uploads = (await store.uploads()).filter(({ isComplete }) => isComplete)
        return Promise.all(uploads.map(({ id }) => store.read(id)))
      },
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    }
  },
}
