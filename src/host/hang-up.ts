/** Ends what goes by a port at its other end, too: a port reports no close there, a message does. */
export function hangUp(port: MessagePort): void {
  port.postMessage("end")
  port.close()
}
