/** Runs `task` in a later task of the event loop, also in a hidden page, where timers are held back. */
export function later(task: () => void): void {
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => {
    port1.close()
    task()
  }
  port2.postMessage(undefined)
}
