import { isJsonObject } from "../lib/json.js";

/**
 * A document with a JSON Merge Patch (RFC 7396) applied: fields of the patch replace those of the document, objects are
 * merged field by field, and null removes a field. Neither is changed.
 */
export function applyMergePatch(document: unknown, patch: unknown): unknown {
  if (!isJsonObject(patch)) return patch;
  // Fields of their own, whatever they are called: "__proto__" is a name like any other.
  const merged = new Map(Object.entries(isJsonObject(document) ? document : {}));
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) merged.delete(name);
    else merged.set(name, applyMergePatch(merged.get(name), value));
  }
  return Object.fromEntries(merged);
}
