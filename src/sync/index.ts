export type {
  EarlierPush,
  PushProgress,
  SinkOptions,
  SinkResult,
  SnapshotCopy,
  SnapshotFile,
  SnapshotSink,
  SnapshotSource,
} from "../client/index.ts"
export { type PushChangesOptions, type PushChangesResult, pushChanges } from "./changes/push-changes.ts"
export { type Conflict, PushConflict } from "./changes/push-conflict.ts"
export { type ContentHash, contentHash, type HashOptions } from "./content-hash.ts"
export { type PresignedPutOptions, presignedPut, type Sign, type SignedPut, type SignRequest } from "./presigned-put.ts"
export { type PullOptions, type PullProgress, type PullResult, pullSnapshot } from "./pull.ts"
export { forgetPushes, type Place, type PushRecord, pushHistory } from "./push-records.ts"
export { type PushOptions, type PushResult, pushSnapshot } from "./push-snapshot.ts"
export { type DatabaseService, type ReplayOptions, replay } from "./replay/replay.ts"
export type { RetryOptions } from "./retry.ts"
export { type TusOptions, tus } from "./tus.ts"
