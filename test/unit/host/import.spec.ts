import { expect, test } from "@playwright/test"
import { AgentDBError, openAgentDB } from "../../../src/index.ts"

test("the entry can be imported without a browser, and opening says what is missing", async () => {
  const error = await openAgentDB().then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(error).toBeInstanceOf(AgentDBError)
  expect(error).toMatchObject({ code: "failed_precondition", message: expect.stringContaining("Worker") })
})

test("options that can't be are refused before anything starts", async () => {
  await expect(openAgentDB({ keys: {} })).rejects.toMatchObject({ code: "invalid_argument" })
  await expect(openAgentDB({ name: "" })).rejects.toMatchObject({ code: "invalid_argument" })
  await expect(openAgentDB({ limits: { statementMs: -1 } })).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("statementMs"),
  })
  const storage = "disk" as "opfs"
  await expect(openAgentDB({ storage })).rejects.toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining("disk"),
  })
})
