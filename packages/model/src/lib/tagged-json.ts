import { fromBase64, toBase64 } from "../messages/media.js";

/** In the place of a value that JSON has no word for stands an object with this field alone, or with `v` beside it. */
const TAG = "$";
const MARK = `{"${TAG}":`;

/**
 * A value as JSON that `parseTagged` reads back as it was: `undefined`, NaN, the infinities and -0, dates and bytes (`Uint8Array`,
 * `Float32Array`) too. A field that is undefined is left out. Errors: `TypeError` for what is no data (a function, a bigint) or
 * holds itself.
 */
export function stringifyTagged(value: unknown): string {
  return JSON.stringify(tagged(value));
}

/** Reads what `stringifyTagged` wrote. Errors: `SyntaxError`. */
export function parseTagged(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(MARK) ? untagged(value) : value;
}

function tagged(value: unknown): unknown {
  switch (typeof value) {
    case "undefined":
      return { [TAG]: "undefined" };
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { [TAG]: "number", v: numberName(value) };
    case "object":
      return value === null ? null : taggedObject(value);
    case "function":
    case "symbol":
      throw new TypeError(`A ${typeof value} is no data.`);
    default:
      return value;
  }
}

function taggedObject(value: object): unknown {
  if (Array.isArray(value)) return value.map(tagged);
  if (value instanceof Date) return { [TAG]: "date", v: tagged(value.getTime()) };
  if (value instanceof Uint8Array) return { [TAG]: "bytes", v: toBase64(value) };
  if (value instanceof Float32Array) {
    return { [TAG]: "floats", v: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  }
  const fields = Object.entries(value).flatMap(([name, each]) => (each === undefined ? [] : [[name, tagged(each)]]));
  const copy = Object.fromEntries(fields);
  return Object.hasOwn(copy, TAG) ? { [TAG]: "object", v: copy } : copy;
}

function untagged(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(untagged);
  const { [TAG]: tag, v } = value as Record<string, unknown>;
  switch (tag) {
    case "undefined":
      return undefined;
    case "number":
      return Number(v);
    case "date":
      return new Date(untagged(v) as number);
    case "bytes":
      return fromBase64(v as string);
    case "floats":
      return new Float32Array(fromBase64(v as string).slice().buffer);
    default:
      return fieldsOf(tag === "object" ? (v as object) : value);
  }
}

function fieldsOf(value: object): object {
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, untagged(each)]));
}

const numberName = (value: number): string => (Object.is(value, -0) ? "-0" : String(value));
