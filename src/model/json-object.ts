/** A JSON object. */
export type JsonObject = Record<string, unknown>;

/** True for an object that is no array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
