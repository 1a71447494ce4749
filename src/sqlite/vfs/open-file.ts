import type { SyncFile } from "../../storage/storage.ts"
import type { Mount } from "./mount.ts"

/** What stands behind one sqlite3_file. */
export type OpenFile =
  | { readonly kind: "main" | "wal"; readonly file: SyncFile; readonly mount: Mount }
  /** A scratch file; a pooled one goes back to the storage. */
  | { readonly kind: "temp"; readonly file: SyncFile; readonly pooled: boolean; readonly mount: undefined }
