/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** True for an object that is no array, and no promise of one. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Promise);
}

/** Deeper than anyone writes, and far from where the stack ends for who looks into a value. */
const MAX_DEPTH = 1000;

/** The value that a JSON text says; undefined for any other text, and for one whose lists and objects are more than 1,000 levels deep. */
export function findJson(text: string): unknown {
  if (text.length > 2 * MAX_DEPTH && isTooDeep(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isTooDeep(text: string): boolean {
  let depth = 0;
  let isInString = false;
  for (let at = 0; at < text.length && depth <= MAX_DEPTH; at += 1) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') isInString = true;
    else if (character === "[" || character === "{") depth += 1;
    else if (character === "]" || character === "}") depth -= 1;
  }
  return depth > MAX_DEPTH;
}

/** The object that a JSON text says; null for any other text. */
export function findJsonObject(text: string): JsonObject | null {
  const value = findJson(text);
  return isJsonObject(value) ? value : null;
}
