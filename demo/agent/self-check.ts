import { type Conversation, getState, insertItem, setState, unixNow } from "./conversation.ts"

/**
 * Proves, before the page calls itself ready, that this conversation stores and recalls:
 * the boot goes into the agent's state and is read back, and a sentence with a word that
 * nobody says is found by full text inside a transaction that is then rolled back.
 * @returns how often this conversation has been started, this time included
 * @throws Error naming the part that failed
 */
export async function selfCheck(conversation: Conversation): Promise<number> {
  const { connection, sessionId } = conversation
  const boots = Number((await getState(connection, "boots")) ?? 0) + 1
  const boot = `${unixNow()} session ${sessionId}`
  await connection.transaction(async (tx) => {
    await setState(tx, "boots", String(boots))
    await setState(tx, "last_boot", boot)
  })
  if ((await getState(connection, "last_boot")) !== boot)
    throw new Error("the agent's state did not come back as stored")

  const word = `probe${Math.random().toString(36).slice(2)}`
  if (!(await recallsInTransaction(conversation, word)))
    throw new Error("full-text search did not find what was stored")
  if (await finds(connection, word)) throw new Error("a rolled back turn left a trace")
  return boots
}

async function recallsInTransaction({ connection, sessionId }: Conversation, word: string): Promise<boolean> {
  const tx = await connection.begin()
  try {
    await insertItem(tx, sessionId, 0, { type: "user", content: { text: `self-check ${word}`, told: true } }, unixNow())
    return await finds(tx, word)
  } finally {
    await tx.rollback()
  }
}

async function finds(db: Pick<Conversation["connection"], "query">, word: string): Promise<boolean> {
  const row = await db.query("SELECT rowid FROM told_index WHERE told_index MATCH ?", [word]).first()
  return row !== undefined
}
