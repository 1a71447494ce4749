import { mkdirSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import type { FullResult, Reporter, Suite, TestCase } from "@playwright/test/reporter"

/** Where a run leaves its count line, for whoever started it. */
const countFile = process.env["AGENTDB_COUNT_FILE"]

/** Ends a run with why tests were skipped, and with the true counts on the last line. */
class SummaryReporter implements Reporter {
  #suite: Suite | undefined
  #errorsOutsideTests = 0

  onBegin(_config: unknown, suite: Suite): void {
    this.#suite = suite
  }

  onError(): void {
    this.#errorsOutsideTests++
  }

  printsToStdio(): boolean {
    return false
  }

  onEnd(result: FullResult): void {
    const tests = this.#suite?.allTests() ?? []
    const passed = tests.filter((test) => test.outcome() === "expected" || test.outcome() === "flaky").length
    const skipped = tests.filter((test) => test.outcome() === "skipped")
    let failed = tests.filter((test) => test.outcome() === "unexpected").length + this.#errorsOutsideTests
    // An interrupted run has not failed a test, but it has not passed either.
    if (result.status !== "passed" && failed === 0) failed = 1

    if (skipped.length > 0) console.log("\nSkipped:")
    for (const reason of new Set(skipped.map(skipReason))) {
      console.log(`  ${reason}`)
      for (const test of skipped) if (skipReason(test) === reason) console.log(`    ${titleOf(test)}`)
    }
    const line = `${passed} passed, ${failed} failed${skipped.length > 0 ? `, ${skipped.length} skipped` : ""}`
    console.log(`\n${line}`)
    if (!countFile) return
    mkdirSync(dirname(countFile), { recursive: true })
    writeFileSync(countFile, line)
  }
}

function skipReason(test: TestCase): string {
  const mark = test.annotations.find(({ type }) => type === "skip" || type === "fixme")
  if (mark) return mark.description ?? "no reason given"
  return "did not run, after the failure of something that it needs"
}

function titleOf(test: TestCase): string {
  const [, , ...titles] = test.titlePath()
  return titles.join(" > ")
}

export default SummaryReporter
