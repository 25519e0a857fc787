/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** True for an object that is no array, and no promise of one. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/** Deeper values overflow the stack of some function that reads them, here or in an engine. */
export const MAX_DEPTH = 1000;

/** True for a value that is nested deeper than a message may be. */
export function isTooDeep(value: unknown): boolean {
  return isDeeper(value, MAX_DEPTH);
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  if (levels === 0) return true;
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true;
  return false;
}

/** The same for the value that a text says in JSON: each level takes two characters at least. */
export function isTextTooDeep(text: string, value: unknown): boolean {
  return text.length > 2 * MAX_DEPTH && isTooDeep(value);
}

/** The value that a JSON text says; undefined for any other text, and for one that is nested too deep. */
export function findJson(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return isTextTooDeep(text, value) ? undefined : value;
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
