import { expect, test } from "@playwright/test"
import { decide, isTold } from "../../../demo/agent/brain.ts"
import { calculate } from "../../../demo/agent/calculator.ts"

test("the calculator knows precedence, signs and parentheses", () => {
  const values: Record<string, number> = {
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "10 - 2 - 3": 5,
    "2 * 3 % 4": 2,
    "-2 ^ 2": -4,
    "2 ^ 3 ^ 2": 512,
    "2 ^ -1": 0.5,
    "3 - -4": 7,
    ".5 * 4": 2,
  }
  for (const [expression, value] of Object.entries(values)) expect(calculate(expression), expression).toBe(value)
})

test("the calculator says what it cannot read", () => {
  const refused: Record<string, RegExp> = {
    "1 / 0": /divide by zero/,
    "5 % 0": /divide by zero/,
    "1 +": /ends too early/,
    "(1 + 2": /not closed/,
    "1 2": /"2"/,
    "one + 1": /"o"/,
    "9 ^ 9999": /too large/,
  }
  for (const [expression, reason] of Object.entries(refused)) {
    expect(() => calculate(expression), expression).toThrow(reason)
  }
})

test("each kind of sentence asks for its tool", () => {
  const calls: [string, string, object][] = [
    ["My name is Ada.", "remember", { key: "name", value: "Ada" }],
    ["Please remember that the door code is 4417", "remember", { key: "door code", value: "4417" }],
    ["what’s my door code?", "recall", { key: "door code" }],
    ["Who am I?", "recall", { key: "name" }],
    ["What do you know about me?", "list_facts", {}],
    ["forget my door code", "forget", { key: "door code" }],
    ["What is 2^10?", "calculate", { expression: "2^10" }],
    ["12*(3+4)", "calculate", { expression: "12*(3+4)" }],
    ["Todo: water the plants", "add_note", { text: "water the plants" }],
    ["remind me to call Bo", "add_note", { text: "call Bo" }],
    ["what's on my list?", "list_notes", {}],
    ["done 2", "finish_note", { number: 2 }],
    ["What time is it?", "time", {}],
    ["How many messages are there?", "count_messages", {}],
    ["What did I say about tea?", "search", { words: ["tea"] }],
    ["2026", "search", { words: ["2026"] }],
  ]
  for (const [text, name, args] of calls) expect(decide(text, []), text).toEqual({ tool: { name, args } })
})

test("only what the user states is kept for recall", () => {
  for (const told of ["I take my tea with oat milk", "My name is Ada", "Todo: water the plants"]) {
    expect(isTold(told), told).toBe(true)
  }
  for (const not of ["What did I say about tea?", "search for tea", "list facts", "12 * 3", "hello", "?!"]) {
    expect(isTold(not), not).toBe(false)
  }
})

test("a fact that was never filed is looked for in what was said", () => {
  const step = { name: "recall", args: { key: "tea" }, output: { value: null } } as const
  expect(decide("what is my tea?", [step])).toEqual({ tool: { name: "search", args: { words: ["tea"] } } })
})
