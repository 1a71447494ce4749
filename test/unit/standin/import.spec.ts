import { expect, test } from "@playwright/test"
import { createWebSocket, install } from "../../../src/standin/index.ts"

test("the entry can be imported, and a class made, where there is no browser", () => {
  const Socket = createWebSocket({ openLink: () => Promise.reject(new Error("nobody is there")) })
  expect(Socket.OPEN).toBe(1)
  expect(typeof install).toBe("function")
})
