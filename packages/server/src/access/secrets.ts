import { sha256Bytes } from "@stemma/model";

/** So many random bytes, as base64url. */
export function randomText(bytes: number): string {
  return base64url(crypto.getRandomValues(new Uint8Array(bytes)));
}

/** The SHA-256 of a text, as base64url. */
export function digestOf(text: string): string {
  // Each request has one, and WebCrypto's waits for another thread.
  return base64url(sha256Bytes(new TextEncoder().encode(text)));
}

/** True for the same text. Takes the same time wherever two of one length differ. */
export function isSameSecret(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  for (let at = 0; at < a.length; at += 1) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}

function base64url(bytes: Uint8Array): string {
  const text = btoa(String.fromCharCode(...bytes));
  return text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
