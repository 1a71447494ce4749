import { expect, test } from "../../fixtures/browser.ts"
import { connectTo, createTable, insert, openService, values } from "../host/service-page.ts"
import { newTab, roleOf, takenOver } from "./tab.ts"

test("tabs whose workers start from text are one service, alone and beside a tab that has the files of the package", async ({
  profile,
  site,
}) => {
  const [first, second] = [await newTab(profile, site.plain, "inline"), await newTab(profile, site.plain, "inline")]
  await openService(first)
  expect(first.workers().map((worker) => worker.url())).toEqual([expect.stringMatching(/^blob:/)])
  const id = await createTable(first)
  await insert(first, 1)
  await openService(second)
  await connectTo(second, id)
  await insert(second, 2)
  expect([await roleOf(first), await roleOf(second)]).toEqual(["leader", "follower"])
  expect(second.workers()).toHaveLength(0)
  const third = await newTab(profile, site.plain)
  await openService(third)
  await connectTo(third, id)
  expect(await roleOf(third)).toBe("follower")
  expect(await values(third)).toEqual([1, 2])

  await first.close()
  await takenOver(second, third)
  await insert(second, 3)
  expect(second.workers().map((worker) => worker.url())).toEqual([expect.stringMatching(/^blob:/)])
  // A worker that dies starts again from the same text.
  await second.evaluate(() => window.workersMade.at(-1)?.terminate())
  await takenOver(second, third)
  await insert(third, 4)
  await second.close()
  await takenOver(third)
  expect(third.workers().map((worker) => worker.url())).toEqual([expect.stringMatching(/^http:.*worker/)])
  expect(await values(third)).toEqual([1, 2, 3, 4])
  expect(await third.evaluate(() => window.failures)).toEqual([])
})
