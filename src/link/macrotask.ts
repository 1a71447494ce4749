declare function setImmediate(task: () => void): unknown

const queue: (() => void)[] = []
let channel: MessageChannel | undefined

/**
 * Runs `task` in a later task of the event loop, after messages that are already
 * queued, without the 4 ms clamp of timers. Tasks run in the order given.
 */
export function macrotask(task: () => void): void {
  // Node's way does not hold the process open, as a port with a listener would.
  if (typeof setImmediate === "function") {
    setImmediate(task)
    return
  }
  if (!channel) {
    channel = new MessageChannel()
    channel.port1.onmessage = () => queue.shift()?.()
  }
  queue.push(task)
  channel.port2.postMessage(undefined)
}
