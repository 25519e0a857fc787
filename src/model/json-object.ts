/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** True for an object that is no array, and no promise of one. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/** The value that a JSON text says; undefined for any other text. */
export function findJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The object that a JSON text says; null for any other text. */
export function findJsonObject(text: string): JsonObject | null {
  const value = findJson(text);
  return isJsonObject(value) ? value : null;
}
