/** Changes alone can't bring the target to the same state. Never leaves this room: `reason` is reported. */
export class SnapshotNeeded extends Error {
  get reason(): string {
    return this.message
  }
}
