import type { TestInfo, TestType } from "@playwright/test"
import { keep, type Row } from "../conformance/results.ts"
import type { Case, Group } from "./context.ts"
import { suite } from "./suite.ts"

/** What carries the frames between client and service. */
export interface Transport {
  readonly name: string
  /** The default is the whole suite. */
  readonly groups?: readonly Group[]
  /** Why a case can't be shown over it. */
  cannot?(item: Case): string | undefined
  run(group: string, item: Case): Promise<void>
}

/** A test for each case over one transport; what can't be shown there is skipped, with the reason. */
export function suiteTests(
  test: Pick<TestType<object, object>, "describe" | "afterEach" | "afterAll" | "skip"> &
    ((title: string, body: () => Promise<void>) => void),
  { name, groups = suite, cannot = () => undefined, run }: Transport,
): void {
  const rows: Row[] = []
  const cases = groups.flatMap((group) => group.cases.map((item) => ({ group: group.name, item })))

  test.afterAll(() => keep("client suite", name, rows))

  for (const { group, item } of cases) {
    const title = `${group}: ${item.name}`
    test.describe(`over ${name}`, () => {
      // biome-ignore lint/correctness/noEmptyPattern: Playwright reads a fixture's dependencies from its pattern
      test.afterEach(({}, info) => {
        rows.push({ id: item.name, section: group, ...outcomeOf(info) })
      })
      test(title, async () => {
        const why = cannot(item)
        test.skip(why !== undefined, why ?? "")
        await run(group, item)
      })
    })
  }
}

function outcomeOf({ status, annotations, error }: TestInfo): Pick<Row, "outcome" | "why"> {
  if (status === "passed") return { outcome: "passed" }
  const skip = annotations.find(({ type }) => type === "skip")
  if (status === "skipped") return { outcome: "not applicable", why: skip?.description ?? "" }
  return { outcome: "failed", why: error?.message ?? String(status) }
}
