import { isJsonObject, type JsonObject } from "../lib/json.js";
import { isInlineMedia, mediaTypeOf } from "../messages/media.js";

/** Where an object says that it was cut. */
const NOTE_KEY = "[truncated]";
/** Values nested deeper than this are left out of what is cut. */
const MAX_DEPTH = 12;
/** The least that is tried before a value is left out whole. */
const MIN_CHARS = 16;
/** Keys that a cut object keeps at least: enough for every wrapper the AI SDK puts around a value. */
const MIN_KEYS = 4;
const WRAPPERS = new Set(["text", "json", "content", "error-text", "error-json"]);

/** The first `end` UTF-16 units of a text, less one if that would leave half a surrogate pair. */
export function sliceWhole(text: string, end: number): string {
  const last = text.charCodeAt(end - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? end - 1 : end);
}

/**
 * A text of at most `maxChars` characters, the note that it was cut included; one that is short enough is given back.
 * Under about 60 characters the note is longer than its share and comes on top.
 */
export function truncateText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const room = maxChars - truncationNote(text.length).length;
  const head = sliceWhole(text, Math.max(room, Math.floor(maxChars / 2)));
  const cut = head + truncationNote(text.length - head.length);
  return cut.length < text.length ? cut : text;
}

/**
 * A JSON value of about `maxChars` characters that keeps its shape: objects stay objects, arrays stay arrays, the AI SDK's
 * `{ type, value }` outputs keep their type; long strings are cut, items and keys past the room are left out, inline media
 * are replaced by a note rather than cut. What is short enough is given back; the argument is never touched.
 */
export function shrinkJson(value: unknown, maxChars: number): unknown {
  if (typeof value === "string") return shrinkString(value, maxChars);
  if (jsonLength(value, maxChars) <= maxChars) return value;
  for (let chars = maxChars; chars >= MIN_CHARS; chars = Math.floor(chars / 2)) {
    const cut = shrink(value, chars, 0);
    if (jsonLength(cut, maxChars) <= maxChars) return cut;
  }
  return emptied(value);
}

/** A value of the same shape that also says `note`. */
export function withNote(value: unknown, note: string): unknown {
  if (typeof value === "string") return `${value}\n${note}`;
  if (Array.isArray(value)) return [...value, noteItem(value, note)];
  if (!isJsonObject(value)) return value;
  return isWrapper(value) ? { ...value, value: withNote(value.value, note) } : { ...value, [NOTE_KEY]: note };
}

/** The length of a value as JSON, escapes left aside; counted no further than just past `enough`. */
function jsonLength(value: unknown, enough = Number.POSITIVE_INFINITY): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return String(value).length;
  let length = 2;
  if (Array.isArray(value)) {
    for (const item of value) {
      length += jsonLength(item, enough - length) + 1;
      if (length > enough) return length;
    }
    return length;
  }
  if (hasToJson(value)) return jsonLength(value.toJSON(), enough);
  for (const key in value) {
    length += key.length + 4 + jsonLength((value as JsonObject)[key], enough - length);
    if (length > enough) return length;
  }
  return length;
}

function shrink(value: unknown, chars: number, depth: number): unknown {
  if (typeof value === "string") return shrinkString(value, chars);
  if (typeof value !== "object" || value === null) return value;
  if (depth > MAX_DEPTH) return emptied(value);
  const most = Math.ceil(chars / MIN_CHARS);
  if (Array.isArray(value)) {
    const items = value.slice(0, most).map((item) => shrink(item, chars, depth + 1));
    const left = value.length - items.length;
    return left === 0 ? items : [...items, noteItem(value, `… [truncated, ${left} items]`)];
  }
  if (hasToJson(value)) return shrink(value.toJSON(), chars, depth);
  const entries = Object.entries(value);
  const cut: [string, unknown][] = [];
  for (const [key, child] of entries.slice(0, Math.max(most, MIN_KEYS))) {
    if (isInlineMedia(value, key, child) && child.length > chars) {
      const note = mediaNote(value, child);
      // Half a picture is no picture, and a block that says so must not pass for one.
      if (typeof (value as JsonObject).type === "string") return { type: "text", text: note };
      cut.push([key, note]);
    } else {
      cut.push([key, shrink(child, chars, depth + 1)]);
    }
  }
  const left = entries.length - cut.length;
  if (left > 0) cut.push([NOTE_KEY, `… [truncated, ${left} keys]`]);
  return Object.fromEntries(cut);
}

function shrinkString(text: string, chars: number): string {
  if (text.length <= chars) return text;
  return isInlineMedia(null, "", text) ? mediaNote(null, text) : truncateText(text, chars);
}

// The least that is left of a value: its shape, and how much is gone.
function emptied(value: unknown): unknown {
  const note = truncationNote(jsonLength(value));
  if (Array.isArray(value)) return [noteItem(value, note)];
  if (!isJsonObject(value)) return typeof value === "string" ? note : value;
  return isWrapper(value) ? { type: value.type, value: emptied(value.value) } : { [NOTE_KEY]: note };
}

// Content blocks stay content blocks, and objects objects: whoever reads the items expects them all alike.
function noteItem(items: readonly unknown[], note: string): unknown {
  if (items.length === 0 || !items.every(isJsonObject)) return note;
  return items.every(({ type }) => typeof type === "string") ? { type: "text", text: note } : { [NOTE_KEY]: note };
}

function mediaNote(holder: unknown, data: string): string {
  const type = mediaTypeOf(holder) ?? /^data:([^;,]*)/.exec(data)?.[1] ?? "";
  return `[${type === "" ? "media" : type} left out, ${data.length} characters]`;
}

export function truncationNote(characters: number): string {
  return `… [truncated, ${characters} characters]`;
}

function isWrapper(value: JsonObject): boolean {
  return typeof value.type === "string" && WRAPPERS.has(value.type) && "value" in value;
}

function hasToJson(value: object): value is { toJSON(): unknown } {
  return typeof (value as { toJSON?: unknown }).toJSON === "function";
}
