import type { DatabaseFiles } from "../../storage/storage.ts"
import type { Heap } from "../heap.ts"
import { FileLocks } from "./file-locks.ts"
import { SharedMemory } from "./shared-memory.ts"
import { WalBuffer } from "./wal-buffer.ts"

/** A database that the VFS can open by its path, and what its connections share. */
export class Mount {
  readonly files: DatabaseFiles
  /** The one way to the WAL while it is mounted. */
  readonly wal: WalBuffer
  readonly locks = new FileLocks()
  readonly memory: SharedMemory
  /**
   * Called once the WAL is synced and before a checkpoint writes the first page back, whoever asked for it.
   * If it throws there is no checkpoint.
   */
  onCheckpoint: (() => void) | undefined
  /** The result code of a sync that failed: what is on disk is unknown from then on. */
  syncFailure: number | undefined
  /** Set when nothing may reach the files any more; reads still work. */
  sealed = false
  /** What the next look at the size of the main file fails with: the one way to stop a checkpoint that has begun. */
  checkpointFailure: number | undefined

  constructor(files: DatabaseFiles, heap: Heap) {
    this.files = files
    this.wal = new WalBuffer(files.wal)
    this.memory = new SharedMemory(heap)
  }
}
