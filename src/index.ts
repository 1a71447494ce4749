export * from "./client/index.ts"
export type { AgentDB } from "./host/agentdb.ts"
export { openAgentDB } from "./host/open-agentdb.ts"
export type {
  ConnectOptions as AgentDBConnectOptions,
  OpenOptions,
  RestoredDatabase,
  RestoreOptions,
} from "./host/types.ts"
export type { RawFile } from "./storage/storage.ts"
export { decodeClientMessage, decodeServerMessage, type Frame, type ServerFrame } from "./wire/frames.ts"
export { mintToken } from "./wire/jwt.ts"
