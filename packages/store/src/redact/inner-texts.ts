import { fromBase64, isInlineMedia, mediaTypeOf, setField, toBase64 } from "@stemma/model";
import type { RedactWhere } from "../contract/store.js";

/** Redacts one string. */
export type RedactText = (text: string, where: RedactWhere) => string;

type Path = readonly (string | number)[];

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

const HEAD = /^data:(?<type>[\w.+-]+\/[\w.+-]+)?(?:\s*;\s*[\w-]+=[^;,\s]*)*(?<base64>\s*;\s*base64)?\s*,/i;
const INSIDE = /data:[\w.+-]+\/[\w.+-]+(?:;[\w-]+=[\w.-]*)*;base64,[\w+/-]+={0,2}/gi;
const BASE64 = /^[\w+/-]+={0,2}$/;
/** A shorter word of base64 may be one of a language. */
const MIN_BASE64 = 16;
/** Characters that tell of bytes whether they are a text. */
const START = 1024;
const TEXTS = /^(?:text\/|application\/(?:json|xml|javascript|yaml|toml|sql|rtf|x-[\w-]*)|.*\+(?:json|xml)$)/i;
const MEDIA = /^(?:image|audio|video|font)\/(?!.*\+xml$)/i;

/**
 * Redacts a text, and the texts that are encoded in it, in `data:` URLs or as base64. Bytes that are no text, as those of an
 * image, stay as they are.
 */
export function redactEncoded(text: string, redact: (text: string) => string): string {
  const head = /^data:/i.test(text) ? HEAD.exec(text) : null;
  if (head === null) {
    const made = text.length < MIN_BASE64 ? null : redactBase64(text, null, redact);
    if (made !== null && made !== text) return made;
    return redact(/;base64,/i.test(text) ? text.replaceAll(INSIDE, (url) => redactEncoded(url, redact)) : text);
  }
  const [start] = head;
  const { type = "text/plain", base64 } = head.groups ?? {};
  const data = text.slice(start.length);
  if (base64 !== undefined) {
    const made = redactBase64(data, type, redact);
    return made === null ? redact(text) : made === data ? text : start + made;
  }
  const plain = unescaped(data);
  if (plain === data) return redact(text);
  const made = redact(plain);
  return made === plain ? text : start + (attempt(() => encodeURIComponent(made)) ?? made);
}

// Null for what is no base64. What has no type is a text only if it has the characters of one.
function redactBase64(given: string, type: string | null, redact: (text: string) => string): string | null {
  const data = type === null || BASE64.test(given) ? given : unescaped(given).replaceAll(/\s+/g, "");
  if (!BASE64.test(data)) return null;
  if (type !== null && MEDIA.test(type)) return given;
  const isText = type !== null && TEXTS.test(type);
  const standard = data.replaceAll("-", "+").replaceAll("_", "/");
  if (!isText && attempt(() => plainText(fromBase64(standard.slice(0, START)), standard.length > START)) === null)
    return given;
  const bytes = attempt(() => fromBase64(standard));
  if (bytes === null) return given;
  const plain = isText ? utf8Text(bytes) : plainText(bytes);
  if (plain !== null) {
    const made = redactEncoded(plain, redact);
    return made === plain ? given : toBase64(new TextEncoder().encode(made));
  }
  if (!isText) return given;
  // Of another encoding, in which the characters of ASCII are the same.
  const binary = atob(standard);
  const made = redact(binary);
  return made === binary ? given : (attempt(() => btoa(made)) ?? toBase64(new TextEncoder().encode(made)));
}

/** Null for bytes that are no text: not UTF-8, or with characters that no text has. `isStart`: more bytes follow. */
export function plainText(bytes: Uint8Array, isStart = false): string | null {
  const text = utf8Text(bytes, isStart);
  // Texts for a terminal have escapes.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  return text === null || /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? null : text;
}

function utf8Text(bytes: Uint8Array, isStart = false): string | null {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  return attempt(() => decoder.decode(bytes, { stream: isStart }));
}

// What is no escape stays as it is.
function unescaped(text: string): string {
  return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (each) => attempt(() => decodeURIComponent(each)) ?? each);
}

function attempt<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}
