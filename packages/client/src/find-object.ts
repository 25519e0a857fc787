type Fields = Readonly<Record<string, unknown>>;

/** The object that a JSON text says; null for any other text. The server holds it to a depth. */
export function findObject(text: string): Fields | null {
  try {
    return asObject(JSON.parse(text));
  } catch {
    return null;
  }
}

/** An object; null for any other value. */
export function asObject(value: unknown): Fields | null {
  return typeof value === "object" && !Array.isArray(value) ? (value as Fields | null) : null;
}
