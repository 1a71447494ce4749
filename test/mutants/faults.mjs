/**
 * A deliberate fault: in `file`, `find` (exactly once) becomes `put`.
 * @typedef {{ name: string, file: string, find: string, put: string }} Fault
 */

/** @type {readonly Fault[]} */
export const faults = [
  // Credit, streams
  fault("credit is not taken", "server/stream.ts", "if (costs) this.#credit--", ""),
  fault("one batch above the credit", "server/stream.ts", "this.#credit === 0 &&", "this.#credit < 0 &&"),
  fault(
    "credit wraps instead of saturating",
    "server/stream.ts",
    "Math.min(maxCredit, this.#credit + batches)",
    "(this.#credit + batches) >>> 0",
  ),
  fault(
    "credit wraps before the stream starts",
    "server/session.ts",
    "Math.min(maxCredit, request.credit + batches)",
    "(request.credit + batches) >>> 0",
  ),
  fault("credit for a waiting request is lost", "server/session.ts", "else request.credit = ", "else request.bytes + "),
  fault(
    "total_rows is off by one",
    "server/stream.ts",
    "this.#output.done(this.#totalRows)",
    "this.#output.done(this.#totalRows + 1)",
  ),
  fault(
    "a write does not take the open streams ahead",
    "server/stream.ts",
    "if (this.#ended || !(this.#source instanceof CursorSource)) return",
    "if (this.#source) return",
  ),
  fault(
    "streams of a transaction are not known to it",
    "server/executor.ts",
    'if (where === "reads inside") this.#transaction.streams.add(stream)',
    "",
  ),
  fault("the bound of captured rows is ignored", "server/row-source.ts", "if (bytes > maxBytes) {", "if (bytes < 0) {"),
  fault(
    "the bound of a batch's answer is ignored",
    "server/batch.ts",
    "cursor.capture(Math.max(0, room))",
    "cursor.capture(Number.POSITIVE_INFINITY)",
  ),
  fault(
    "the bound of open streams is ignored",
    "server/executor.ts",
    "if (this.#open.streams.size < this.#limits.openStreams) return",
    "if (this.#limits.openStreams > 0) return",
  ),
  fault(
    "the bound of open streams is forgotten while waiting",
    "server/executor.ts",
    "    // Others may have opened while it waited.\n    this.#admitStream()\n",
    "",
  ),
  fault(
    "rows before an error are dropped",
    "server/row-source.ts",
    "if (batch.rows === 0) throw error",
    "if (batch.rows >= 0) throw error",
  ),

  // Tips, durability
  fault("the tip is one too high", "sqlite/tip.ts", "return this.#base + ((", "return 1 + this.#base + (("),
  fault("recovery counts commits twice", "sqlite/tip.ts", "sameWal ? record.mxFrame : 0", "0"),
  fault("both records in one slot", "sqlite/meta.ts", "record.seq % 2", "0"),
  fault(
    "the tip is not recorded before a checkpoint",
    "sqlite/database.ts",
    "this.#mount.onCheckpoint = () => this.#tip.record()",
    "",
  ),
  fault(
    "a flush does nothing",
    "sqlite/vfs/wal-buffer.ts",
    "    this.#drain()\n    this.#file.flush()\n  }",
    "    this.#drain()\n  }",
  ),
  fault(
    "what is buffered is not read back",
    "sqlite/vfs/wal-buffer.ts",
    "if (at < end && at + count > this.#start) this.#drain()",
    "",
  ),
  fault(
    "answers do not wait for the flush",
    "server/outbox.ts",
    "if (this.#held.length > 0 || this.#mustHold())",
    "if (this.#held.length > 0)",
  ),
  fault(
    "held answers leave in reverse",
    "server/outbox.ts",
    "this.#held.push({ frame, ends })",
    "this.#held.unshift({ frame, ends })",
  ),
  fault(
    "a group of commits has no bound",
    "server/open-database.ts",
    "this.database.unflushed >= groupSize",
    "this.database.unflushed < 0",
  ),
  fault(
    "a partly committed failure is not flushed",
    "server/executor.ts",
    "    } finally {\n      this.#open.committed()\n    }",
    "    } finally {\n      if (statement.columnCount > 0) this.#open.committed()\n    }",
  ),
  fault(
    "a failed sync inside the engine severs nobody",
    "server/open-database.ts",
    "if (!this.#gone && this.database.failure !== undefined) this.#scheduleFlush()",
    "",
  ),
  fault(
    "a failed flush keeps the answers",
    "server/session.ts",
    "const unsaid = this.#outbox.discard()",
    "const unsaid: number[] = []\n    this.#outbox.release()",
  ),
  fault(
    "the WAL is not emptied",
    "server/open-database.ts",
    "if (!this.#gone && this.database.walBytes > 0) this.#checkpoint()",
    "",
  ),
  fault(
    "a WAL above its limit ends the newest stream",
    "server/open-database.ts",
    "const [oldest] = [...this.streams].filter(",
    "const [oldest] = [...this.streams].reverse().filter(",
  ),

  // Transactions, the write turn
  fault(
    "rollback is forgotten",
    "server/transaction.ts",
    '    beforeEnd()\n    this.#open.database.writer.run("ROLLBACK")\n',
    '    beforeEnd()\n    this.#open.database.writer.run("COMMIT")\n',
  ),
  fault(
    "a closed socket's transaction commits",
    "server/transaction.ts",
    'if (alive && database.writer.inTransaction) database.writer.run("ROLLBACK")',
    'if (alive && database.writer.inTransaction) database.writer.run("COMMIT")',
  ),
  fault(
    "a transaction keeps the turn",
    "server/transaction.ts",
    "    if (this.#open.alive) this.#open.database.writer.resetLocals()\n    this.#open.turn.release()",
    "    if (this.#open.alive) this.#open.database.writer.resetLocals()",
  ),
  fault(
    "a write keeps the turn",
    "server/executor.ts",
    "      } finally {\n        this.#open.turn.release()\n      }",
    "      } finally {\n        if (this.#closed) this.#open.turn.release()\n      }",
  ),
  fault(
    "the turn goes to the last in line",
    "server/write-turn.ts",
    "const [next] = this.#waiters",
    "const next = [...this.#waiters].at(-1)",
  ),
  fault(
    "whoever waited too long gets the turn",
    "server/write-turn.ts",
    'waiter.settle("timeout")',
    'waiter.settle("granted")',
  ),
  fault(
    "the turn is given to a closed socket",
    "server/executor.ts",
    "if (!this.#closed) return\n",
    "if (!this.#closed || request.id >= 0) return\n",
  ),
  fault(
    "silent autocommit after an abort",
    "server/transaction.ts",
    'this.#state = { name: "aborted", why }',
    'if (why === "") this.#state = { name: "aborted", why }',
  ),
  fault(
    "an engine's rollback goes unseen",
    "server/transaction.ts",
    "if (this.isOpen && this.#open.alive && !this.#open.database.writer.inTransaction)",
    "if (this.isOpen && !this.#open.alive)",
  ),
  fault(
    "idleness compared the wrong way",
    "server/transaction.ts",
    "      const left = this.#lastActive + txIdleMs - this.#clock.now()\n      if (left > 0) watchIdle(left)\n      else this.#abort",
    "      const left = this.#lastActive + txIdleMs - this.#clock.now()\n      if (left <= 0) watchIdle(txIdleMs)\n      else this.#abort",
  ),
  fault(
    "the whole time of a transaction has no bound",
    "server/transaction.ts",
    "const disarmTotal = this.#clock.after(txTotalMs, ",
    "const disarmTotal = this.#clock.after(txTotalMs * 1e6, ",
  ),
  fault(
    "last_insert_id is not reset at begin",
    "server/transaction.ts",
    "    writer.resetCounters()\n    this.touch()",
    "    this.touch()",
  ),
  fault(
    "last_insert_id is not reset before an exec",
    "server/executor.ts",
    '    writer.resetCounters()\n    const statement = prepare(writer, statementOf(request), "autocommit", request.run, this.#limits)\n    this.#endExec',
    '    const statement = prepare(writer, statementOf(request), "autocommit", request.run, this.#limits)\n    this.#endExec',
  ),
  fault(
    "last_insert_id without a row",
    "server/statements.ts",
    "kind.inserts && rowsAffected > 0n ?",
    "kind.inserts ?",
  ),
  fault("rows_affected is stale after DDL", "server/statements.ts", "if (!kind.changesRows) return noEffects", ""),
  fault(
    "pragmas outlive their batch",
    "server/executor.ts",
    "        database.writer.resetLocals()",
    "        database.tip",
  ),
  fault(
    "a part's savepoint stays after a failure",
    "server/open-database.ts",
    "`ROLLBACK TO ${name}; RELEASE ${name}`",
    "`ROLLBACK TO ${name}`",
  ),
  fault(
    "a part's savepoint stays after success",
    "server/open-database.ts",
    "`SAVEPOINT ${name}`, `RELEASE ${name}`,",
    "`SAVEPOINT ${name}`, `SELECT 1`,",
  ),
  fault(
    "a failed batch stays in its transaction",
    "server/open-database.ts",
    "`ROLLBACK TO ${name}; RELEASE ${name}`",
    "`RELEASE ${name}`",
  ),
  fault(
    "a batch names the wrong statement",
    "server/batch.ts",
    "`statement ${index}: ${message}`",
    "`statement ${index + 1}: ${message}`",
  ),
  fault(
    "the counters of a batch carry the tip before it",
    "server/batch.ts",
    "tip: BigInt(tip) } }",
    "tip: BigInt(tip - 1) } }",
  ),

  // Sockets, requests
  fault(
    "cancel of the wrong id",
    "server/session.ts",
    "this.#signals.settle(requestId)\n    const request = this.#live.get(requestId)",
    "this.#signals.settle(requestId)\n    const request = this.#live.get(requestId + 1)",
  ),
  fault("a cancelled request in the queue runs", "server/session.ts", "    this.#queue.splice(queued, 1)\n", ""),
  fault(
    "requests run in reverse",
    "server/session.ts",
    "for (let request = this.#queue.shift(); request; request = this.#queue.shift())",
    "for (let request = this.#queue.pop(); request; request = this.#queue.pop())",
  ),
  fault("a request does not wait for the one before it", "server/session.ts", "if (waiting) await waiting\n", ""),
  fault(
    "a live id may be taken again",
    "server/session.ts",
    "if (!isGreeting && !this.#live.has(requestId)) return true",
    "if (requestId >= 0) return true",
  ),
  fault(
    "the Hello's id may be taken again",
    "server/session.ts",
    "if (!isGreeting && !this.#live.has(requestId)) return true",
    "if (!this.#live.has(requestId)) return true",
  ),
  fault("the queue of a socket has no bound", "server/session.ts", "this.#queue.length >= limits.queueFrames ||", ""),
  fault(
    "the bytes of a queue have no bound",
    "server/session.ts",
    "this.#queuedBytes + bytes > limits.queueBytes",
    "bytes < 0",
  ),
  fault("the queue of a lost socket runs", "server/session.ts", "    this.#queue.length = 0\n", ""),
  fault(
    "a Pong overtakes the HelloOk",
    "server/session.ts",
    'if (this.#state.name === "greeting") this.frame(frame)\n        else ',
    "",
  ),
  fault(
    "silence is never judged",
    "server/session.ts",
    "if (left > 0) this.#watchSilence(left)",
    "if (left > -1e9) this.#watchSilence(1e6)",
  ),
  fault(
    "a peer that pings is judged silent",
    "server/session.ts",
    "    this.#lastReceived = this.#host.clock.now()\n    const { maxFrameBytes }",
    "    const { maxFrameBytes }",
  ),
  fault(
    "a frame of any size is taken",
    "server/session.ts",
    "if (frame.byteLength > maxFrameBytes) {",
    "if (frame.byteLength < 0) {",
  ),
  fault("unknown fields are kept", "wire/frames.ts", ", { readUnknownFields: false })", ")"),
  fault(
    "a dead URL counts without a probe",
    "server/cancel-signals.ts",
    "if (this.#probe === undefined) return false",
    "if (this.#probe === undefined) return true",
  ),
  fault(
    "a Cancel that came leaves its mark in the ring",
    "server/cancel-signals.ts",
    "else this.#ahead.delete(requestId)",
    "",
  ),
  fault(
    "the ring is not looked at before a request",
    "server/cancel-signals.ts",
    "return this.#ahead.has(requestId)",
    "return false",
  ),
  fault(
    "a ring of any size is read",
    "link/cancel-ring.ts",
    "ring.byteLength === ringBytes ?",
    "ring.byteLength >= 0 ?",
  ),
  fault(
    "a ring may claim any number of ids",
    "link/cancel-ring.ts",
    "if ((head - tail) >>> 0 > slots) tail = (head - slots) | 0",
    "",
  ),
  fault("a statement has no deadline", "sqlite/interrupt.ts", "if (ranMs > run.limitMs ||", "if ("),
  fault(
    "waiting for credit is running",
    "sqlite/interrupt.ts",
    "    this.#startedAt = performance.now()\n",
    "    if (this.#startedAt === 0) this.#startedAt = performance.now()\n",
  ),

  // SQL surface
  fault(
    "ATTACH is allowed",
    "sqlite/authorizer.ts",
    'if (!this.vacuum) return this.#deny("ATTACH',
    'if (this.vacuum) return this.#deny("ATTACH',
  ),
  fault(
    "COMMIT as SQL is allowed",
    "sqlite/authorizer.ts",
    "return this.#transaction(this.#heap.text(first))",
    "return 0",
  ),
  fault(
    "a savepoint inside a batch is allowed",
    "sqlite/authorizer.ts",
    'if (this.#scope === "transaction") return 0',
    'if (this.#scope !== "autocommit") return 0',
  ),
  fault(
    "changes() is allowed outside",
    "sqlite/authorizer.ts",
    'if (instead === undefined || this.#scope !== "autocommit") return 0',
    "if (instead === undefined || this.#scope) return 0",
  ),
  fault(
    "any pragma is allowed",
    "sqlite/pragmas.ts",
    'if (!readable.has(name)) return "unknown"',
    'if (!readable.has(name)) return "allowed"',
  ),
  fault(
    "a read-only pragma can be set",
    "sqlite/pragmas.ts",
    "hasArgument && settings.has(name) && !writable.has(name)",
    'hasArgument && name === ""',
  ),
  fault(
    "what follows the first statement is ignored",
    "sqlite/prepare.ts",
    "if (isBlank(connection, tail, end)) return",
    "if (tail) return",
  ),
  fault(
    "too many parameters are taken",
    "sqlite/bind.ts",
    "if (wanted !== params.length)",
    "if (wanted > params.length)",
  ),
  fault(
    "a parameter without a value is NULL",
    "sqlite/bind.ts",
    'throw new AgentDBError("invalid_argument", `parameter ${index} has no value`)',
    "return sqlite.sqlite3_bind_null(statement, index)",
  ),

  // Frames of rows
  fault(
    "offsets of text overflow at 64 KiB",
    "wire/column-batch-writer.ts",
    "this.#textEnds.varint(this.#text.length)",
    "this.#textEnds.varint(this.#text.length & 0xffff)",
  ),
  fault(
    "offsets of blobs begin anew in each row",
    "wire/column-batch-writer.ts",
    "this.#blobEnds.varint(this.#blob.length)",
    "this.#blobEnds.varint(bytes.length)",
  ),
  fault("a half row stays in its batch", "sqlite/row.ts", "  batch.dropRow()\n", ""),
  fault(
    "a frame may be larger than the limit",
    "sqlite/row.ts",
    "if (batch.byteLength > maxFrameBytes) return",
    "if (batch.byteLength < 0) return",
  ),
  fault(
    "large integers are rounded",
    "sqlite/row.ts",
    "if (Number.isSafeInteger(value)) column.int(value)",
    "if (Number.isInteger(value)) column.int(value)",
  ),

  // Management plane
  fault(
    "expiry compared the wrong way",
    "server/catalog.ts",
    "expiresAt > 0 && expiresAt <= now",
    "expiresAt > 0 && expiresAt > now",
  ),
  fault(
    "what never expires has expired",
    "server/catalog.ts",
    "return expiresAt > 0 && expiresAt <= now",
    "return expiresAt <= now",
  ),
  fault(
    "page tokens are off by one",
    "server/management.ts",
    "entry.attributes.order > after",
    "entry.attributes.order >= after",
  ),
  fault(
    "a page too many",
    "server/management.ts",
    "last && entries.length > size ?",
    "last && entries.length >= size ?",
  ),
  fault("a negative page size is taken", "server/management.ts", "|| pageSize < 0) {", "|| pageSize < -9) {"),
  fault("the time to live is not clamped", "server/management.ts", "Number(ttl > cap ? cap : ttl)", "Number(ttl)"),
  fault(
    "an idempotency key is forgotten at a restart",
    "server/idempotency.ts",
    "attributes.requestId === requestId && ",
    "attributes.requestId === project && ",
  ),
  fault("a deletion leaves its sockets open", "server/catalog.ts", "open?.sever(notFound(), 1008)", ""),
  fault(
    "a deletion leaves the files",
    "server/catalog.ts",
    "await this.#storage.remove(entry.project, entry.id)\n    } catch (error) {\n      entries.set",
    "} catch (error) {\n      entries.set",
  ),
  fault(
    "a database is closed under its sockets",
    "server/catalog.ts",
    "if (entry.users > 0 || !entry.open || this.#closed) return",
    "if (!entry.open || this.#closed) return",
  ),
  fault("a dump tells of what is not durable", "server/dumps.ts", "        open.flush()\n", ""),
  fault(
    "dumps are never erased",
    "server/dumps.ts",
    "        this.#eraseAt(expiresAt, project, id, name)\n        return",
    "        return",
  ),
  fault(
    "one project finds another's databases",
    "server/service.ts",
    "const project = this.#authenticate(token)",
    'this.#authenticate(token)\n    const project = "devkey"',
  ),
  fault("a token never expires", "wire/jwt.ts", "+ leewaySeconds <= now) refuse", "< 0) refuse"),
]

/** @param {string} name @param {string} file below src @param {string} find @param {string} put @returns {Fault} */
function fault(name, file, find, put) {
  return { name, file: `src/${file}`, find, put }
}
