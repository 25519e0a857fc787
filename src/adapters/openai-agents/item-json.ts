import { invalid, kindOf, type StemmaError } from "../../errors.js";
import { fromBase64, toBase64 } from "../../model/base64.js";
import { isJsonObject, type JsonObject } from "../../model/json-object.js";

/** The fields that stand for bytes, and for an object that has such a field itself. */
const BYTES = "$bytes";
const OBJECT = "$object";

/** An item as JSON: bytes as base64, without fields that are undefined. Errors: `INVALID_ARGUMENT` for what is neither. */
export function toItemJson(item: unknown): JsonObject {
  const json = encode(item, new Set());
  if (isJsonObject(json)) return json;
  throw invalid(`An item must be an object; got ${kindOf(item)}.`);
}

/** The item of `toItemJson`, as a copy of its own. */
export function fromItemJson(json: unknown): unknown {
  if (Array.isArray(json)) return json.map(fromItemJson);
  if (!isJsonObject(json)) return json;
  if (typeof json[BYTES] === "string") return fromBase64(json[BYTES]);
  const fields = isJsonObject(json[OBJECT]) ? json[OBJECT] : json;
  return Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, fromItemJson(value)]));
}

function encode(value: unknown, within: Set<object>): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (value instanceof Uint8Array) return { [BYTES]: toBase64(value) };
  if (!Array.isArray(value) && !isPlain(value)) throw unwritable(`holds ${nameOf(value)}`);
  if (within.has(value)) throw unwritable("refers to itself");
  within.add(value);
  const json = Array.isArray(value) ? value.map((each) => encode(each, within)) : encodeFields(value, within);
  within.delete(value);
  return json;
}

function encodeFields(value: JsonObject, within: Set<object>): JsonObject {
  const given = Object.entries(value).filter(([, field]) => field !== undefined);
  const fields = Object.fromEntries(given.map(([name, field]) => [name, encode(field, within)]));
  return BYTES in fields || OBJECT in fields ? { [OBJECT]: fields } : fields;
}

function isPlain(value: unknown): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function nameOf(value: unknown): string {
  if (typeof value === "object") return `a ${value?.constructor.name ?? "null"}`;
  return typeof value === "number" ? String(value) : kindOf(value);
}

function unwritable(why: string): StemmaError {
  return invalid(`An item ${why}, which is neither JSON nor bytes.`);
}
