/** Where a server tells what happens, a line at a time; `console` is one. */
export interface Log {
  /** Sockets that open and close. */
  info(line: string): void
  /** What should not have happened. */
  warn(line: string): void
}

/** Speaks up only where something was lost. */
export const quietLog: Log = { info() {}, warn: (line) => console.warn(line) }
