import { isInlineMedia, mediaTypeOf, setField } from "@stemma/model";
import type { RedactWhere } from "../contract/store.js";

/** Redacts one string. */
export type RedactText = (text: string, where: RedactWhere) => string;

export type Path = readonly (string | number)[];

/** True for a string that names something, as an id or a type, and is never redacted. */
export type IsIdentifier = (path: Path, text: string) => boolean;

const NONE: IsIdentifier = () => false;

/**
 * A JSON value whose strings are redacted, but for those that `isIdentifier` knows by their path; the value itself where
 * nothing changed.
 */
export function redactJson<T>(value: T, where: RedactWhere, text: RedactText, isIdentifier = NONE): T {
  const { path: above = [] } = where;
  const path: (string | number)[] = [];
  const change = (one: string): string =>
    isIdentifier(path, one) ? one : text(one, { ...where, path: [...above, ...path] });
  return mapped(value, path, change) as T;
}

// The path is that of the value while it is looked at.
function mapped(value: unknown, path: (string | number)[], change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  // What JSON would make of it, as of a URL.
  const said: unknown = value instanceof String ? `${value}` : (value as { toJSON?: () => unknown }).toJSON;
  if (said !== undefined) {
    const json: unknown = typeof said === "function" ? said.call(value) : said;
    if (json === value) return value;
    const made = mapped(json, path, change);
    return made === json ? value : made;
  }
  let copy: unknown[] | Record<string, unknown> | null = null;
  const keys = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const key of keys) {
    const item = (value as Record<string | number, unknown>)[key];
    path.push(key);
    const made = mappedField(value, key, item, path, change);
    path.pop();
    if (made === item) continue;
    copy ??= Array.isArray(value) ? [...value] : { ...value };
    setField(copy as Record<string, unknown>, key as string, made);
  }
  return copy ?? value;
}

// Base64 beside its media type is a `data:` URL without its head.
function mappedField(
  holder: object,
  key: string | number,
  item: unknown,
  path: (string | number)[],
  change: (text: string) => string,
): unknown {
  if (key !== "data" || !isInlineMedia(holder, key, item) || item.startsWith("data:"))
    return mapped(item, path, change);
  const head = `data:${mediaTypeOf(holder)};base64,`;
  const made = change(head + item);
  return made.startsWith(head) ? made.slice(head.length) : made;
}
