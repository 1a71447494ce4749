export type { Link } from "../link/link.ts"
export { ValueType } from "../wire/column-batch.ts"
export type { DatabaseInfo } from "../wire/database-info.ts"
export { AgentDBError, type ErrorCode } from "../wire/errors.ts"
export type { Limits } from "../wire/limits.ts"
export { type Param, type Real, real, type Value } from "../wire/values.ts"
export { connect } from "./connection.ts"
export type { CreatedDatabase, CreateOptions, DatabasePage, Dump, ListOptions } from "./management.ts"
export { AgentDBServiceClient } from "./service-client.ts"
export type {
  EarlierPush,
  PushProgress,
  SinkOptions,
  SinkResult,
  SnapshotCopy,
  SnapshotFile,
  SnapshotSink,
  SnapshotSource,
} from "./snapshot-sink.ts"
export { splitStatements } from "./split-statements.ts"
export { type SqlPart, type SqlStatement, sql } from "./sql.ts"
export type { Status } from "./status.ts"
export type {
  Batch,
  BatchColumn,
  BatchResult,
  CallOptions,
  Connection,
  ConnectOptions,
  ExecResult,
  Executor,
  LinkLike,
  QueryOptions,
  ReconnectOptions,
  Row,
  RowStream,
  RowsResult,
  Statement,
  Token,
  Transaction,
} from "./types.ts"
