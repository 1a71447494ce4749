import { countOf, formatCount, formatTime } from "../format.ts"
import type { DoneStep, Fact, Memory, Note, Step, ToolCall } from "./tool-call.ts"

/** What to do next: ask for a tool, or answer the user. */
export type Decision = { tool: ToolCall } | { answer: string }

interface Rule {
  pattern: RegExp
  call(groups: string[]): ToolCall
}

const nothing = {}

/** First match wins. The words after a command are kept as the user wrote them. */
const rules: Rule[] = [
  {
    pattern: /^what(?:'s| is) the (?:time|date)|^what (?:time|day|date) is it|^time$/i,
    call: () => ({ name: "time", args: nothing }),
  },
  {
    pattern: /^(?:how many|count)\b.*\b(?:messages?|items?|chats?)/i,
    call: () => ({ name: "count_messages", args: nothing }),
  },
  {
    pattern: /^(?:list|show)(?: me)?(?: my| the| all)? (?:notes?|to-?dos?|tasks?)|^(?:notes|to-?dos?|tasks)$/i,
    call: () => ({ name: "list_notes", args: nothing }),
  },
  {
    pattern: /^what(?:'s| is) (?:on my list|left to do)|^what (?:do i have|have i) to do/i,
    call: () => ({ name: "list_notes", args: nothing }),
  },
  {
    pattern: /^(?:add (?:a )?)?(?:note|to-?do|task)\s*[:,-]?\s+(.+)$/i,
    call: ([text]) => ({ name: "add_note", args: { text: text ?? "" } }),
  },
  {
    pattern: /^(?:remind me to|i (?:need|have) to)\s+(.+)$/i,
    call: ([text]) => ({ name: "add_note", args: { text: text ?? "" } }),
  },
  {
    pattern: /^(?:done|finish|finished|tick)(?: off)?(?: note| to-?do| task)?\s*#?(\d+)$/i,
    call: ([number]) => ({ name: "finish_note", args: { number: Number(number) } }),
  },
  {
    pattern: /^(?:list|show)(?: me)?(?: my| the| all)?(?: known)? facts?|^facts$|^what do you know/i,
    call: () => ({ name: "list_facts", args: nothing }),
  },
  {
    pattern: /^forget(?: about)? (?:my |the |that )?(.+)$/i,
    call: ([key]) => ({ name: "forget", args: { key: key ?? "" } }),
  },
  {
    pattern:
      /^(?:search|look)(?: for)? (.+)$|^(?:what did i (?:say|tell you)|did i (?:say|mention|tell you)|when did i (?:say|mention)|do you remember)\b(.*)$/i,
    call: ([said, asked]) => ({ name: "search", args: { words: wordsOf(said ?? asked ?? "") } }),
  },
  {
    pattern: /^(?:what(?:'s| is| are)|who(?:'s| is)|recall|tell me) my (.+)$/i,
    call: ([key]) => ({ name: "recall", args: { key: key ?? "" } }),
  },
  { pattern: /^(?:who am i|do you know my name)$/i, call: () => ({ name: "recall", args: { key: "name" } }) },
  {
    pattern:
      /^(?:calculate|compute|what(?:'s| is)|how much is)\s+([-+*/%^().\d\s]+)$|^([-(]*\d[-+*/%^().\d\s]*[-+*/%^][-+*/%^().\d\s]*)=?$/i,
    call: ([asked, bare]) => ({ name: "calculate", args: { expression: (asked ?? bare ?? "").trim() } }),
  },
  {
    pattern: /^(?:calculate|compute)\s+(.+)$/i,
    call: ([expression]) => ({ name: "calculate", args: { expression: expression ?? "" } }),
  },
  {
    pattern: /^(?:my name is|call me|i am called) (.+)$/i,
    call: ([value]) => ({ name: "remember", args: { key: "name", value: value ?? "" } }),
  },
  {
    pattern: /^(?:please )?(?:remember(?: that)? )?my (.+?) (?:is|are) (.+)$/i,
    call: ([key, value]) => ({ name: "remember", args: { key: key ?? "", value: value ?? "" } }),
  },
  {
    pattern: /^(?:please )?remember(?: that)? (?:the )?(.+?) (?:is|are) (.+)$/i,
    call: ([key, value]) => ({ name: "remember", args: { key: key ?? "", value: value ?? "" } }),
  },
]

const help =
  "I keep what you tell me, in a database in this browser. Tell me that your name is Ada, ask what you said about tea, " +
  "add a note, ask me to calculate 12 * (3 + 4), or to count our messages. Nothing leaves this page."

/**
 * The whole brain: no model, no network, the same answer for the same words and the same memory.
 * @param steps what was already called in this turn
 */
export function decide(text: string, steps: readonly Step[]): Decision {
  const said = plain(text)
  const last = steps.at(-1)
  if (last) return afterStep(said, last)
  if (/^(?:help|hello|hi|hey|what can you do)$/i.test(said)) return { answer: help }
  for (const { pattern, call } of rules) {
    const match = pattern.exec(said)
    if (match) return { tool: call(match.slice(1)) }
  }
  const words = wordsOf(said)
  return words.length > 0 ? { tool: { name: "search", args: { words } } } : { answer: help }
}

/** True for what is worth recalling later: not a question, not a command. */
export function isTold(text: string): boolean {
  if (text.trim().endsWith("?")) return false
  const decision = decide(text, [])
  if ("answer" in decision) return false
  const { name } = decision.tool
  if (name === "search") return !/^(?:search|look|what|did|when|do|does|who|where|why|how)\b/i.test(plain(text))
  return name === "remember" || name === "add_note"
}

function afterStep(said: string, step: Step): Decision {
  if ("error" in step) return { answer: `That did not work: ${step.error}.` }
  // A fact that was never filed may still have been said in passing.
  if (step.name === "recall" && step.output.value === null) {
    const words = wordsOf(step.args.key)
    if (words.length > 0) return { tool: { name: "search", args: { words } } }
  }
  return { answer: report(said, step) }
}

function report(said: string, step: DoneStep): string {
  switch (step.name) {
    case "remember": {
      const { key, value } = step.args
      const { replaced } = step.output
      if (replaced === null) return `I'll remember that your ${key} is ${value}.`
      return replaced === value
        ? `I knew that: your ${key} is ${value}.`
        : `Your ${key} is ${value} now; it was ${replaced}.`
    }
    case "recall":
      return step.output.value === null
        ? notTold
        : `Earlier you told me: your ${step.args.key} is ${step.output.value}.`
    case "list_facts":
      return listFacts(step.output.facts)
    case "forget":
      return step.output.forgotten ? `Forgotten: your ${step.args.key}.` : `I keep nothing under “${step.args.key}”.`
    case "search":
      return recallMemories(said, step.output.memories)
    case "calculate":
      return `${step.args.expression} = ${step.output.value}`
    case "add_note":
      return `Noted as number ${step.output.number}: ${step.args.text}.`
    case "list_notes":
      return listNotes(step.output.notes)
    case "finish_note":
      return step.output.text === null ? `There is no open note ${step.args.number}.` : `Done: ${step.output.text}.`
    case "time":
      return `It is ${step.output.spoken}.`
    case "count_messages": {
      const { user, toolCalls, answers, sessions } = step.output
      const yours = `You have written ${countOf(user, "message")} in ${countOf(sessions, "session")}`
      return `${yours}; I called ${countOf(toolCalls, "tool")} and gave ${countOf(answers, "answer")}.`
    }
  }
}

const notTold = "You have not told me that yet."

function listFacts(facts: Fact[]): string {
  if (facts.length === 0) return "I know nothing about you yet. Tell me something, such as: my name is Ada."
  return `I know ${countOf(facts.length, "fact")}:\n${facts.map(({ key, value }) => `• ${key}: ${value}`).join("\n")}`
}

function listNotes(notes: Note[]): string {
  if (notes.length === 0) return "Your list is empty."
  const open = notes.filter((note) => !note.done).length
  const lines = notes.map((note) => `${note.done ? "✓" : "○"} ${note.id}. ${note.text}`)
  return `${formatCount(open)} of ${countOf(notes.length, "note")} open:\n${lines.join("\n")}`
}

function recallMemories(said: string, memories: Memory[]): string {
  const [best, ...others] = memories
  if (!best) return isTold(said) ? "I'll keep that in mind." : notTold
  const quote = ({ text, sessionId, createdAt }: Memory) => `“${text}” (session ${sessionId}, ${formatTime(createdAt)})`
  const more = others.map((memory) => `\n• ${quote(memory)}`).join("")
  return `${isTold(said) ? "I'll keep that in mind. " : ""}Earlier you told me: ${quote(best)}${more && `\nAnd also:${more}`}`
}

/** One line without closing punctuation, as the rules expect it. */
function plain(text: string): string {
  return text
    .replace(/’/g, "'")
    .replace(/\s+/g, " ")
    .replace(/[?!.\s]+$/, "")
    .trim()
}

const smallWords = new Set(
  (
    "a about all am an and are as at be been but by can could did do does for from had has have he her his how i if in is it " +
    "its just me mention mentioned my of on or our please remember said say she so tell that the their them there they this " +
    "to told up was we were what when where which who why will with would you your"
  ).split(" "),
)

/** The words that carry meaning, at most eight of them. */
function wordsOf(text: string): string[] {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
  return [...new Set(words)].filter((word) => !smallWords.has(word)).slice(0, 8)
}
