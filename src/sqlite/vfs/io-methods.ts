import { deviceCharacteristics, FCNTL_CKPT_START, Rc, sectorSize } from "../constants.ts"
import type { Heap } from "../heap.ts"
import { ioResult } from "./io-error.ts"
import type { OpenFile } from "./open-file.ts"

/** The open files of a VFS, by the address of their sqlite3_file. */
export interface OpenFiles {
  get(handle: number): OpenFile | undefined
  close(handle: number): void
}

/**
 * The methods of sqlite3_io_methods, version 2. `handle` is the address of the sqlite3_file.
 * Each returns a result code and none throws: an exception must not unwind the engine's stack.
 */
export function createIoMethods(open: OpenFiles, heap: Heap) {
  const guard = (handle: number, failure: number, action: (file: OpenFile) => number): number => {
    const file = open.get(handle)
    if (!file) return failure
    try {
      return action(file)
    } catch (error) {
      return ioResult(error, failure)
    }
  }
  const change = (handle: number, failure: number, action: (file: OpenFile) => number): number =>
    guard(handle, failure, (file) => (file.mount?.sealed ? failure : action(file)))

  return {
    xClose(handle: number): number {
      return guard(handle, Rc.IOERR, () => {
        open.close(handle)
        return Rc.OK
      })
    },

    xRead(handle: number, into: number, bytes: number, offset: bigint): number {
      return guard(handle, Rc.IOERR_READ, ({ file }) => {
        const target = heap.bytes.subarray(into, into + bytes)
        const read = file.read(target, { at: Number(offset) })
        if (read === bytes) return Rc.OK
        target.fill(0, read)
        return Rc.IOERR_SHORT_READ
      })
    },

    xWrite(handle: number, from: number, bytes: number, offset: bigint): number {
      return change(handle, Rc.IOERR_WRITE, ({ file }) => {
        const written = file.write(heap.bytes.subarray(from, from + bytes), { at: Number(offset) })
        // Browsers answer a full disk with a short count, and some with nonsense.
        return written === bytes ? Rc.OK : Rc.FULL
      })
    },

    xTruncate(handle: number, size: bigint): number {
      return change(handle, Rc.IOERR_TRUNCATE, ({ file }) => {
        file.truncate(Number(size))
        return Rc.OK
      })
    },

    xSync(handle: number, _flags: number): number {
      return change(handle, Rc.IOERR_FSYNC, ({ file, mount, kind }) => {
        // Scratch files are never read again after a crash.
        if (kind === "temp") return Rc.OK
        try {
          file.flush()
          return Rc.OK
        } catch (error) {
          mount.syncFailure = ioResult(error, Rc.IOERR_FSYNC)
          return mount.syncFailure
        }
      })
    },

    xFileSize(handle: number, sizeOut: number): number {
      return guard(handle, Rc.IOERR_FSTAT, ({ file, mount }) => {
        if (mount?.checkpointFailure !== undefined) {
          const failure = mount.checkpointFailure
          mount.checkpointFailure = undefined
          return failure
        }
        heap.setI64(sizeOut, file.getSize())
        return Rc.OK
      })
    },

    xLock(handle: number, level: number): number {
      const mount = open.get(handle)?.mount
      return !mount || mount.locks.lock(handle, level) ? Rc.OK : Rc.BUSY
    },

    xUnlock(handle: number, level: number): number {
      open.get(handle)?.mount?.locks.unlock(handle, level)
      return Rc.OK
    },

    xCheckReservedLock(handle: number, out: number): number {
      heap.setU32(out, open.get(handle)?.mount?.locks.reserved ? 1 : 0)
      return Rc.OK
    },

    xFileControl(handle: number, operation: number, _arg: number): number {
      const mount = operation === FCNTL_CKPT_START ? open.get(handle)?.mount : undefined
      if (!mount) return Rc.NOTFOUND
      try {
        mount.onCheckpoint?.()
      } catch (error) {
        // SQLite ignores what this returns; the size that it asks for next it does not.
        mount.checkpointFailure = ioResult(error, Rc.IOERR_FSYNC)
      }
      return Rc.OK
    },

    xSectorSize(_handle: number): number {
      return sectorSize
    },

    xDeviceCharacteristics(_handle: number): number {
      return deviceCharacteristics
    },

    xShmMap(handle: number, index: number, bytes: number, extend: number, out: number): number {
      return guard(handle, Rc.IOERR_NOMEM, ({ mount }) => {
        if (!mount) return Rc.IOERR_SHMMAP
        const region = mount.memory.map(handle, index, bytes, extend !== 0)
        heap.setU32(out, region)
        return Rc.OK
      })
    },

    xShmLock(handle: number, first: number, count: number, flags: number): number {
      return open.get(handle)?.mount?.memory.lock(handle, first, count, flags) ? Rc.OK : Rc.BUSY
    },

    /** One thread: every write is already seen. */
    xShmBarrier(_handle: number): void {},

    xShmUnmap(handle: number, _erase: number): number {
      open.get(handle)?.mount?.memory.unmap(handle)
      return Rc.OK
    },
  }
}
