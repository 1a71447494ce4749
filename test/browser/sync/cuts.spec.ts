import { expect, openHarness, opfsTree, test } from "../../fixtures/browser.ts"
import { Random } from "../../fixtures/random.ts"
import { type End, ends } from "./end.ts"
import { addRow, dumpHash, fill, look, push, sha256 } from "./pushing.ts"

const seed = Number(process.env["AGENTDB_SEED"] ?? Date.now() % 1_000_000)
const kills = Number(process.env["AGENTDB_SYNC_KILLS"] ?? 2)
const kibibytes = Number(process.env["AGENTDB_SYNC_KIB"] ?? 2_000)

for (const [name, start] of Object.entries(ends)) {
  test.describe(name, () => {
    let end: End
    test.beforeEach(async () => {
      end = await start()
    })
    test.afterEach(() => end[Symbol.asyncDispose]())

    test("a push that loses its connection at 10 random points arrives once and whole", async ({ page, site }) => {
      const what = `AGENTDB_SEED=${seed}`
      const random = new Random(seed)
      await openHarness(page, site.plain)
      const databaseId = await fill(page, kibibytes)
      const before = await dumpHash(page, databaseId)
      const size = kibibytes * 1_000
      const points = Array.from({ length: 10 }, () => random.below(size))
      // Of an upload that goes on where it was cut, what is left gets less and less.
      end.proxy.cutAt(...points.map((afterBytes) => ({ afterBytes: name === "tus" ? afterBytes / 10 : afterBytes })))
      let seen: Uint8Array[] = []
      end.proxy.onCut = async () => {
        seen = seen.concat(await end.complete())
      }
      const { result, error } = await push(page, databaseId, await end.target())
      expect(error, what).toBeUndefined()
      expect(end.proxy.cuts, what).toBe(10)
      expect(seen, what).toEqual([])
      expect((await end.complete()).map(sha256), what).toEqual([result?.sha256])
      expect(result?.sha256, what).toBe(before)
      expect(await look(page, databaseId), what).toEqual({ rows: kibibytes, check: "ok" })
      expect(await dumpHash(page, databaseId), what).toBe(before)
    })

    test("an answer that is lost makes no second snapshot, and no conflict", async ({ page, site }) => {
      await openHarness(page, site.plain)
      const databaseId = await fill(page, 200)
      end.proxy.cutAt({})
      const { result } = await push(page, databaseId, await end.target())
      expect((await end.complete()).map(sha256)).toEqual([result?.sha256])
      await addRow(page, databaseId)
      expect((await push(page, databaseId, await end.target())).error).toBeUndefined()
    })

    test(`a browser that is killed ${kills} times in the middle of pushes leaves one snapshot, and the source`, async ({
      profile,
      site,
    }) => {
      test.setTimeout(60_000 + kills * 30_000)
      const random = new Random(seed)
      let page = await profile.open(site.plain)
      const databaseId = await fill(page, kibibytes)
      const before = await dumpHash(page, databaseId)
      for (let kill = 0; kill < kills; kill++) {
        const what = `kill ${kill}, AGENTDB_SEED=${seed}`
        // One in the middle of the bytes, and at last one between the last byte and its answer.
        const isLast = kill === kills - 1
        const cut = new Promise<void>((resolve) => {
          end.proxy.onCut = resolve
        })
        const afterBytes = random.below(kibibytes * (name === "tus" ? 1_000 / kills : 1_000))
        end.proxy.cutAt({ stands: true, ...(!isLast && { afterBytes }) })
        const pushing = push(page, databaseId, await end.target()).catch(() => undefined)
        await cut
        await profile.kill()
        await pushing
        expect(await end.complete(), what).toHaveLength(isLast ? 1 : 0)
        await profile.launch()
        page = await profile.open(site.plain)
        expect(await look(page, databaseId), what).toEqual({ rows: kibibytes, check: "ok" })
      }
      const { result, error } = await push(page, databaseId, await end.target())
      expect(error).toBeUndefined()
      expect((await end.complete()).map(sha256)).toEqual([result?.sha256])
      expect(result?.sha256).toBe(before)
      expect(await dumpHash(page, databaseId)).toBe(before)
      // The dump for its hash is still there; no copy of a push is.
      await expect.poll(async () => (await opfsTree(page)).filter(({ path }) => path.includes("dump-0-"))).toEqual([])
    })
  })
}
