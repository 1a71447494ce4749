/** Something the user can put right; the agent says it instead of failing the turn. */
export class ToolError extends Error {}

const operators: Record<string, { level: number; apply(a: number, b: number): number }> = {
  "+": { level: 1, apply: (a, b) => a + b },
  "-": { level: 1, apply: (a, b) => a - b },
  "*": { level: 2, apply: (a, b) => a * b },
  "/": { level: 2, apply: divide },
  "%": { level: 2, apply: (a, b) => (b === 0 ? divide(a, b) : a % b) },
}

/**
 * The value of an expression of numbers, `+ - * / % ^` and parentheses.
 * @throws ToolError naming what can't be read
 */
export function calculate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? []
  let at = 0

  function level(minimum: number): number {
    let value = unary()
    for (;;) {
      const operator = operators[tokens[at] ?? ""]
      if (!operator || operator.level < minimum) return value
      at++
      value = operator.apply(value, level(operator.level + 1))
    }
  }

  function unary(): number {
    if (tokens[at] !== "-") return power()
    at++
    return -unary()
  }

  function power(): number {
    const base = operand()
    if (tokens[at] !== "^") return base
    at++
    return base ** unary()
  }

  function operand(): number {
    const token = tokens[at++]
    if (token === undefined) throw new ToolError("the expression ends too early")
    if (token === "(") {
      const value = level(1)
      if (tokens[at++] !== ")") throw new ToolError("a parenthesis is not closed")
      return value
    }
    const value = Number(token)
    if (Number.isNaN(value)) throw new ToolError(`I can't read "${token}" there`)
    return value
  }

  const value = level(1)
  if (at < tokens.length) throw new ToolError(`I can't read "${tokens[at]}" there`)
  if (!Number.isFinite(value)) throw new ToolError("the result is too large")
  return value
}

function divide(a: number, b: number): number {
  if (b === 0) throw new ToolError("I can't divide by zero")
  return a / b
}
