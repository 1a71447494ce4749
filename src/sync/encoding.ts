/** Lowercase hex as base64, which is how S3 writes checksums. */
export function hexToBase64(hex: string): string {
  return btoa(hex.replace(/../g, (pair) => String.fromCharCode(Number.parseInt(pair, 16))))
}

/** Undefined for what is not the base64 of a SHA-256, such as the checksum of checksums of a multipart object. */
export function base64ToHex(base64: string | null | undefined): string | undefined {
  if (!base64 || !/^[A-Za-z0-9+/]{43}=$/.test(base64)) return undefined
  return [...atob(base64)].map((char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join("")
}
