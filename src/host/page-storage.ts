/** Why this page can't have OPFS; undefined if nothing on the page's side speaks against it. */
export async function pageOpfsProblem(): Promise<string | undefined> {
  if (!isSecureContext) return "OPFS needs a secure context: https, or http on localhost"
  const storage = (navigator as { storage?: Partial<StorageManager> }).storage
  if (!storage?.getDirectory) return "this browser has no OPFS (navigator.storage.getDirectory is missing)"
  try {
    await storage.getDirectory()
    return undefined
  } catch (error) {
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error)
    return `navigator.storage.getDirectory() failed with ${why}`
  }
}
