import { expect, test } from "@playwright/test"
import { MemoryFile } from "../../../src/storage/memory-file.ts"
import { probeStorage } from "../../../src/storage/probe.ts"
import { AgentDBError } from "../../../src/wire/errors.ts"

/** What this process has instead of a browser's storage, for the time of one probe. */
async function probing(open: (attempt: number) => void, getDirectory?: () => never) {
  let attempts = 0
  const names = new Set<string>()
  class FakeFileHandle {
    async createSyncAccessHandle() {
      open(++attempts)
      return new MemoryFile()
    }
  }
  const root = {
    getFileHandle: async (name: string) => {
      names.add(name)
      return new FakeFileHandle()
    },
    removeEntry: async () => {},
  }
  const globals = {
    isSecureContext: true,
    navigator: { storage: { getDirectory: getDirectory ?? (async () => root) } },
    FileSystemFileHandle: FakeFileHandle,
  }
  const before = Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const)
  for (const [name, value] of Object.entries(globals)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  try {
    const result = await probeStorage("My agent").catch((error: unknown) => AgentDBError.from(error))
    return { result, attempts, names: [...names] }
  } finally {
    for (const [name, descriptor] of before) {
      if (descriptor) Object.defineProperty(globalThis, name, descriptor)
      else Reflect.deleteProperty(globalThis, name)
    }
  }
}

const failing = (name: string, times = Number.POSITIVE_INFINITY) =>
  probing((attempt) => {
    if (attempt <= times) throw new DOMException("so it is", name)
  })

test("a file that can be opened is OPFS, and its name is that of the service", async () => {
  const { result, names } = await probing(() => {})
  expect(result).toEqual({ kind: "opfs" })
  expect(names).toEqual([".agentdb-probe-_4dy_20agent"])
})

test("a file that another worker holds, and a disk without room for it, are OPFS too", async () => {
  for (const name of ["NoModificationAllowedError", "InvalidStateError", "QuotaExceededError"]) {
    expect((await failing(name)).result, name).toEqual({ kind: "opfs" })
  }
})

test("a file that is removed between making and opening it is made again", async () => {
  expect(await failing("NotFoundError", 2)).toMatchObject({ result: { kind: "opfs" }, attempts: 3 })
})

test("a browser that refuses is memory, and says why", async () => {
  for (const name of ["SecurityError", "UnknownError", "NotAllowedError", "NotSupportedError"]) {
    const { result, attempts } = await failing(name)
    expect(result, name).toMatchObject({ kind: "memory" })
    expect((result as { reason: string }).reason).toContain("the origin private file system cannot be opened: ")
    expect(attempts).toBe(1)
  }
  const refuse = () => {
    throw new DOMException("denied", "SecurityError")
  }
  expect((await probing(() => {}, refuse)).result).toMatchObject({ kind: "memory" })
})

test("any other failure is no reason for an empty service: it is an error", async () => {
  for (const name of ["NotFoundError", "AbortError", "OperationError"]) {
    const { result } = await failing(name)
    expect(result, name).toMatchObject({ code: "unavailable" })
    expect((result as AgentDBError).message).toContain("can't be opened just now")
  }
})
