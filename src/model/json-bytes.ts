/** A value as a record keeps it: its JSON in UTF-8. */
export function encodeJson(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

/** Reads what `encodeJson` wrote. Throws what `JSON.parse` throws. */
export function decodeJson(bytes: Uint8Array): unknown {
  return JSON.parse(new TextDecoder().decode(bytes));
}
