import { fromBase64, toBase64 } from "../messages/media.js";
import { MAX_DEPTH } from "./json.js";

/** In the place of a value that JSON has no word for stands an object with this field alone, or with `v` beside it. */
const TAG = "$";
const MARK = `{"${TAG}":`;
/** Deeper values have no text: arguments hold messages, which may be as deep as `MAX_DEPTH`. */
const DEEPEST = MAX_DEPTH + 16;

/** Gives what stands in the text for what is no data, or throws. */
type StandIn = (value: unknown) => unknown;

const refuse: StandIn = (value) => {
  throw new TypeError(`A ${typeof value} is no data here, or is nested too deep.`);
};
const noData: StandIn = () => ({ [TAG]: "none" });

/**
 * A value as JSON that `parseTagged` reads back as it was: `undefined`, NaN, the infinities and -0, dates and bytes (`Uint8Array`,
 * `Float32Array`) too. A field that is undefined is left out. Errors: `TypeError` for what is no data (a function, a bigint) or
 * nested too deep, as what holds itself.
 */
export function stringifyTagged(value: unknown): string {
  // A history is JSON as it is, and need not be copied.
  return JSON.stringify(isJson(value, DEEPEST) ? value : tagged(value, refuse, DEEPEST));
}

/** True for a value of which JSON says all. */
function isJson(value: unknown, levels: number): boolean {
  if (typeof value !== "object") {
    return typeof value === "string" || typeof value === "boolean" || (Number.isFinite(value) && !Object.is(value, -0));
  }
  if (value === null) return true;
  if (levels === 0) return false;
  if (Array.isArray(value)) {
    // A hole is no value.
    for (let index = 0; index < value.length; index += 1) if (!isJson(value[index], levels - 1)) return false;
    return true;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  for (const name in value) {
    const field = (value as Record<string, unknown>)[name];
    if (name === TAG || (field !== undefined && !isJson(field, levels - 1))) return false;
  }
  return true;
}

/**
 * As `stringifyTagged`, for whoever leaves it to the reader to refuse what is no data: it is read as a bigint. Fields that are undefined
 * stay.
 */
export function stringifyAny(value: unknown): string {
  return JSON.stringify(tagged(value, noData, DEEPEST));
}

/** Reads what `stringifyTagged` wrote. Errors: `SyntaxError`. */
export function parseTagged(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return text.includes(MARK) ? untagged(value) : value;
}

function tagged(value: unknown, standIn: StandIn, levels: number): unknown {
  switch (typeof value) {
    case "undefined":
      return { [TAG]: "undefined" };
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { [TAG]: "number", v: numberName(value) };
    case "object":
      if (value === null) return null;
      return levels === 0 ? standIn(value) : taggedObject(value, standIn, levels - 1);
    case "function":
    case "symbol":
    case "bigint":
      return standIn(value);
    default:
      return value;
  }
}

function taggedObject(value: object, standIn: StandIn, levels: number): unknown {
  if (Array.isArray(value)) return Array.from(value, (each) => tagged(each, standIn, levels));
  if (value instanceof Date) return { [TAG]: "date", v: tagged(value.getTime(), standIn, levels) };
  if (value instanceof Uint8Array) return { [TAG]: "bytes", v: toBase64(value) };
  if (value instanceof Float32Array) {
    return { [TAG]: "floats", v: toBase64(new Uint8Array(value.buffer, value.byteOffset, value.byteLength)) };
  }
  const copy: Record<string, unknown> = {};
  for (const [name, each] of Object.entries(value)) {
    // In arguments, a field that is there without a value may be refused.
    if (each === undefined && standIn === refuse) continue;
    // An own field, whatever its name.
    if (name === "__proto__")
      Object.defineProperty(copy, name, { value: tagged(each, standIn, levels), enumerable: true });
    else copy[name] = tagged(each, standIn, levels);
  }
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
    case "none":
      return 0n;
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
