import { expect, test } from "@playwright/test"
import { connect, type Transaction } from "../../../src/client/index.ts"
import { execOk, type FakePeer, failure, fakeServer, pair, type Script, settle } from "./fake-peer.ts"

const terms = { databaseId: "DB_x", token: "t" }

/** Answers all but what `special` takes. */
const or =
  (special: (sql: string, requestId: number, peer: FakePeer) => boolean): Script =>
  (request, peer) => {
    const { message } = request
    const sql = message.case === "exec" || message.case === "query" ? message.value.sql : (message.case ?? "")
    if (!special(sql, request.requestId, peer)) execOk(request, peer)
  }

const onOneLink = async (script?: Script) => {
  const { link, peer } = pair(script)
  const db = await connect({ ...terms, link })
  return { db, texts: () => peer.texts, txPeer: () => peer, peer }
}

const onManyLinks = async (script?: Script) => {
  const server = fakeServer(script)
  const db = await connect({ ...terms, link: server.link })
  const txPeer = () => server.peers[1] as FakePeer
  return { db, texts: () => txPeer().texts, txPeer, peer: server.peers[0] as FakePeer }
}

for (const [name, open] of Object.entries({ "one link": onOneLink, "many links": onManyLinks })) {
  test.describe(name, () => {
    test("commits on return, with the value of fn", async () => {
      const { db, texts } = await open()
      const value = await db.transaction(async (tx) => {
        await tx.exec("A")
        await tx.batch(["B"])
        return (await tx.query("C").all()).length
      })
      expect(value).toBe(2)
      await settle()
      expect(texts().filter((text) => text !== "credit")).toEqual(["begin", "A", "batch", "C", "commit"])
      await db.close()
    })

    test("rolls back on throw, and the error is the caller's own", async () => {
      const { db, texts } = await open()
      const mine = new Error("mine")
      const thrown = await failure(
        db.transaction(async (tx) => {
          await tx.exec("A")
          throw mine
        }),
      )
      expect(thrown).toBe(mine)
      expect(texts()).toEqual(["begin", "A", "rollback"])
      await db.exec("after")
      await db.close()
    })

    test("rolls back after a failed commit", async () => {
      const { db, texts } = await open(
        or((sql, id, peer) => {
          if (sql !== "commit") return false
          peer.error(id, "SQLITE_CONSTRAINT_FOREIGNKEY", "FOREIGN KEY constraint failed")
          return true
        }),
      )
      expect(await failure(db.transaction(async () => {}))).toMatchObject({ code: "SQLITE_CONSTRAINT_FOREIGNKEY" })
      expect(texts()).toEqual(["begin", "commit", "rollback"])
      await db.exec("after")
      await db.close()
    })

    test("an aborted transaction is over after its commit", async () => {
      const { db, texts } = await open(
        or((sql, id, peer) => {
          if (sql !== "commit") return false
          peer.error(id, "aborted")
          return true
        }),
      )
      expect(await failure(db.transaction(async () => {}))).toMatchObject({ code: "aborted" })
      expect(texts()).toEqual(["begin", "commit"])
      await db.exec("after")
      await db.close()
    })

    test("parallel calls on tx go out in call order", async () => {
      const { db, texts } = await open()
      await db.transaction(async (tx) => {
        await Promise.all([tx.exec("A"), tx.exec("B"), tx.transaction((inner) => inner.exec("I")), tx.exec("C")])
      })
      const sent = texts().map((text) => text.replace(/_\d+$/, ""))
      expect(sent).toEqual(["begin", "A", "B", "SAVEPOINT agentdb_web", "I", "RELEASE agentdb_web", "C", "commit"])
      await db.close()
    })

    test("a nested transaction that throws takes back only its own", async () => {
      const { db, texts } = await open()
      await db.transaction(async (tx) => {
        await tx.exec("A")
        await failure(
          tx.transaction(async (inner) => {
            await inner.exec("I")
            throw new Error("inner")
          }),
        )
        await tx.exec("B")
      })
      const sent = texts().map((text) => text.replace(/_\d+$/, ""))
      expect(sent).toEqual([
        "begin",
        "A",
        "SAVEPOINT agentdb_web",
        "I",
        "ROLLBACK TO agentdb_web",
        "RELEASE agentdb_web",
        "B",
        "commit",
      ])
      await db.close()
    })

    test("after its end a transaction takes nothing more, also while the end is under way", async () => {
      const { db, texts } = await open()
      const tx = await db.begin()
      const committing = tx.commit()
      const late = failure(tx.exec("late"))
      await committing
      expect(await late).toMatchObject({ code: "failed_precondition" })
      for (const call of [() => tx.exec("X"), () => tx.query("X").all(), () => tx.commit(), () => tx.rollback()]) {
        expect(await failure(call())).toMatchObject({ code: "failed_precondition" })
      }
      const other = await db.begin()
      const rolling = other.rollback()
      expect(await failure(other.exec("late"))).toMatchObject({ code: "failed_precondition" })
      await rolling
      expect(texts()).toEqual(["begin", "commit", "begin", "rollback"])
      await db.close()
    })

    test("dispose rolls back if it is open, and does nothing if it is not", async () => {
      const { db, texts } = await open()
      const tx = await db.begin()
      await tx[Symbol.asyncDispose]()
      await tx[Symbol.asyncDispose]()
      const done = await db.begin()
      await done.commit()
      await done[Symbol.asyncDispose]()
      expect(texts()).toEqual(["begin", "rollback", "begin", "commit"])
      await db.close()
    })

    test("fn may end it itself", async () => {
      const { db, texts } = await open()
      expect(
        await db.transaction(async (tx) => {
          await tx.rollback()
          return 5
        }),
      ).toBe(5)
      expect(texts()).toEqual(["begin", "rollback"])
      await db.close()
    })

    test("a commit that fails for the data's sake leaves it open", async () => {
      let fails = true
      const { db, texts } = await open(
        or((sql, id, peer) => {
          if (sql !== "commit" || !fails) return false
          fails = false
          peer.error(id, "SQLITE_CONSTRAINT_FOREIGNKEY")
          return true
        }),
      )
      const tx = await db.begin()
      expect(await failure(tx.commit())).toMatchObject({ code: "SQLITE_CONSTRAINT_FOREIGNKEY" })
      await tx.exec("fix")
      await tx.commit()
      expect(texts()).toEqual(["begin", "commit", "fix", "commit"])
      await db.close()
    })

    test("a stop ends fn's transaction without waiting for fn", async () => {
      const { db, texts } = await open()
      const abort = new AbortController()
      const fn = () => {
        setTimeout(() => abort.abort())
        return new Promise<void>(() => {})
      }
      expect(await failure(db.transaction(fn, { signal: abort.signal }))).toMatchObject({ code: "canceled" })
      expect(texts()).toEqual(["begin", "rollback"])
      await db.exec("after")
      await db.close()
    })

    test("a begin that is given up while it waits is rolled back and nothing stays held", async () => {
      let begin = -1
      const { db, texts, txPeer } = await open(
        or((sql, id) => {
          if (sql !== "begin" || begin >= 0) return false
          begin = id
          return true
        }),
      )
      const abort = new AbortController()
      const beginning = failure(db.begin({ signal: abort.signal }))
      await settle()
      abort.abort()
      expect(await beginning).toMatchObject({ code: "canceled" })
      txPeer().exec(begin)
      await settle()
      expect(texts()).toEqual(["begin", "cancel", "rollback"])
      await (await db.begin()).commit()
      await db.close()
    })

    test("the socket's death ends it: disconnected for what runs and for what follows", async () => {
      const { db, txPeer } = await open(or((sql) => sql === "A"))
      let tx: Transaction | undefined
      const running = failure(
        db.transaction(async (inner) => {
          tx = inner
          await inner.exec("A")
        }),
      )
      await settle()
      txPeer().link.close(1001, "gone")
      expect(await running).toMatchObject({ code: "disconnected" })
      expect(await failure(tx?.exec("B") as Promise<unknown>)).toMatchObject({ code: "disconnected" })
      await db.close()
    })

    test("lost between statements: the commit that was never sent is disconnected too", async () => {
      const { db, txPeer } = await open()
      const running = db.transaction(async () => {
        txPeer().link.close(1001, "gone")
        await settle()
      })
      expect(await failure(running)).toMatchObject({ code: "disconnected" })
      await db.close()
    })

    test("close ends it with closed", async () => {
      const { db } = await open(or((sql) => sql === "A"))
      const running = failure(db.transaction((tx) => tx.exec("A")))
      await settle()
      await db.close()
      expect(await running).toMatchObject({ code: "closed" })
    })
  })
}

test("one link: outer calls made during a transaction come after it", async () => {
  const { db, peer } = await onOneLink()
  let outer: Promise<unknown>[] = []
  await db.transaction(async (tx) => {
    await tx.exec("A")
    outer = [
      db.exec("outer 1"),
      db.query("outer 2").all(),
      db.transaction((other) => other.exec("other")),
      db.exec("outer 3"),
    ]
    await settle()
    await tx.exec("B")
  })
  await Promise.all(outer)
  expect(peer.texts.filter((text) => text !== "credit")).toEqual([
    "begin",
    "A",
    "B",
    "commit",
    "outer 1",
    "outer 2",
    "begin",
    "other",
    "commit",
    "outer 3",
  ])
  await db.close()
})

test("one link: an outer call that fn waits for fails within the bound and names the way out", async () => {
  const { db, peer } = await onOneLink()
  const hangs = [
    () => db.exec("outer"),
    () => db.query("outer").all(),
    () => db.batch(["outer"]),
    () => db.transaction(async () => {}),
  ]
  const errors = await Promise.all([
    failure(
      db.transaction(async () => {
        const settled = await Promise.all(hangs.map((call) => failure(call())))
        for (const error of settled) {
          expect(error).toMatchObject({ code: "failed_precondition" })
          expect(error.message).toContain("use tx inside transaction(fn)")
        }
        throw new Error("seen")
      }),
    ),
  ])
  expect(errors[0]?.message).toBe("seen")
  expect(peer.texts).toEqual(["begin", "rollback"])
  await db.exec("after")
  await db.close()
})

test("one link: an outer call that waits can be aborted", async () => {
  const { db, peer } = await onOneLink()
  await db.transaction(async () => {
    expect(await failure(db.exec("outer", [], { timeoutMs: 10 }))).toMatchObject({ code: "deadline_exceeded" })
  })
  expect(peer.texts).toEqual(["begin", "commit"])
  await db.close()
})

test("many links: outer reads run beside, and a write that waits for the own turn is told so", async () => {
  const server = fakeServer(
    or((sql, id, peer) => {
      if (sql !== "outer write") return false
      peer.error(id, "unavailable", "the write turn did not come in 4000 ms")
      return true
    }),
  )
  const db = await connect({ ...terms, link: server.link })
  await db.transaction(async () => {
    expect(await db.query("SELECT 1").all()).toHaveLength(2)
    const error = await failure(db.exec("outer write"))
    expect(error).toMatchObject({ code: "failed_precondition" })
    expect(error.message).toContain("use tx inside transaction(fn)")
  })
  // Somebody else's transaction: not executed, as the server said.
  expect(await failure(db.exec("outer write"))).toMatchObject({ code: "unavailable" })
  expect(server.peers[0]?.texts.filter((text) => text === "outer write")).toHaveLength(2)
  await db.close()
})

test("many links: a socket is used again for the next transaction, and all are closed with the connection", async () => {
  const server = fakeServer()
  const db = await connect({ ...terms, link: server.link })
  for (let i = 0; i < 5; i++) await db.transaction((tx) => tx.exec("A"))
  expect(server.peers).toHaveLength(2)
  await Promise.all(Array.from({ length: 6 }, () => db.transaction((tx) => tx.exec("A"))))
  await settle()
  expect(server.peers.filter((peer) => !peer.closed).length).toBeLessThanOrEqual(3)
  await db.close()
  await settle()
  expect(server.peers.every((peer) => peer.closed)).toBe(true)
})
