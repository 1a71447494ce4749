import { collectConformance } from "./conformance-table.mjs"

/**
 * The long forms of tests whose everyday form is short: `npm run test:power-cuts` and its like.
 * `files` is a pattern.
 * @type {Record<string, { env: Record<string, string>, files: string }>}
 */
const forms = {
  "power-cuts": { env: { AGENTDB_POWER_CUTS: "1000" }, files: "test/unit/(sqlite|server)/power-cut.spec.ts" },
  // Rounds of each of four deaths.
  crash: { env: { AGENTDB_CRASH_ROUNDS: "56" }, files: "test/browser/crash/crash.spec.ts" },
  quota: { env: { AGENTDB_QUOTA_ROUNDS: "10" }, files: "test/browser/storage/quota.spec.ts" },
  tabs: {
    env: { AGENTDB_TAB_ROUNDS: "20", AGENTDB_TAB_OPENS: "50", AGENTDB_MOUNTS: "30" },
    files: "test/browser/(tabs/(writers|opening)|host/open).spec.ts",
  },
  fuzz: { env: { AGENTDB_FUZZ: "20" }, files: "test/unit/fuzz" },
  vectors: { env: { AGENTDB_WRITE_VECTORS: "yes" }, files: "test/unit/wire/golden-frames.spec.ts" },
  codec: { env: { AGENTDB_CODEC_BATCHES: "10000", AGENTDB_CODEC_ROUNDS: "200" }, files: "test/unit/wire" },
  leaks: { env: { AGENTDB_LEAKS: "1000" }, files: "leaks.spec.ts" },
  dump: { env: { AGENTDB_DUMP_MIB: "200" }, files: "/dump-size.spec.ts" },
  cancel: { env: { AGENTDB_CANCEL_ROUNDS: "50" }, files: "test/browser/data-plane/cancel.spec.ts" },
  "slow-reader": {
    env: { AGENTDB_SLOW_BATCHES: "60", AGENTDB_SLOW_PAUSE_MS: "1000" },
    files: "test/browser/data-plane/slow-reader.spec.ts",
  },
  transfers: { env: { AGENTDB_TRANSFERS: "200" }, files: "test/unit/server/transfers.spec.ts" },
  sqllogictest: { env: { AGENTDB_SQLLOGICTEST: "all" }, files: "test/browser/data-plane/sqllogictest.spec.ts" },
  bundlers: { env: { AGENTDB_BUNDLERS: "all" }, files: "test/browser/bundlers.spec.ts" },
  conformance: { env: { AGENTDB_CONFORMANCE: "all" }, files: "(/conformance/|/suite.spec|/client-suite.spec)" },
  "push-size": { env: { AGENTDB_PUSH_MIB: "1024" }, files: "test/browser/sync/push-size.spec.ts" },
  sync: {
    env: { AGENTDB_SYNC_KILLS: "10", AGENTDB_SYNC_KIB: "20000", AGENTDB_REPLAY_ROUNDS: "10" },
    files: "test/(browser/sync/cuts|unit/sync/replay-faults).spec.ts",
  },
  sample: { env: { AGENTDB_SAMPLE: "all" }, files: "test/browser/sample.spec.ts" },
}

const [name = "", ...rest] = process.argv.slice(2)
const form = forms[name]
if (!form) throw new Error(`no long form "${name}"; there are ${Object.keys(forms).join(", ")}`)
// What is set already wins: AGENTDB_CRASH_ROUNDS=5 npm run crash.
for (const [key, value] of Object.entries(form.env)) process.env[key] ??= value
if (name === "conformance") collectConformance()
process.argv.splice(2, process.argv.length, form.files, ...rest)
await import("./test.mjs")
