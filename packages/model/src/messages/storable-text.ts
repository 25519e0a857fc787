// What a text must be for a database to keep it, and for a request to a model to hold it.
import { StemmaError } from "../errors.js";

/** False for what no database column keeps, and no request to a model holds: NUL and halves of surrogate pairs. */
export const isStorableText = (text: string) => !text.includes("\0") && text.isWellFormed();

/** The first time that a store dates by: Postgres has no year 0. */
export const FIRST_TIME = "0001-01-01T00:00:00.000Z";

/** Throws `INVALID_TEXT` for what no database column keeps. See `isStorableText`. */
export function assertStorableText(text: string, what: string): void {
  if (!isStorableText(text)) {
    const message = `${what} holds NUL or half a surrogate pair; remove it (text.toWellFormed() mends the latter).`;
    throw new StemmaError("INVALID_TEXT", { what }, message);
  }
}

/** A text without what a column of some engine cannot keep: NUL and halves of surrogate pairs. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

/** A short text of a file that can be stored as it is: the name of a model or a folder. Undefined for anything else. */
export function nameOf(value: unknown): string | undefined {
  const isName = typeof value === "string" && value !== "" && utf8Length(value) <= NAME_LIMITS.model;
  return isName && storableText(value) === value ? value : undefined;
}

/**
 * The most bytes of UTF-8 that each name takes, the same on every store. An entry of an index of Postgres has at most 2,704
 * bytes, and must hold a session, a label and a key together. What an earlier version stored is read and deleted as ever.
 */
export const NAME_LIMITS = {
  /** Of a session or a message. */
  id: 1024,
  /** Of a user; the key of a scope. */
  owner: 512,
  /** Of a block, and of a collection of entries or records. */
  label: 384,
  /** Of an entry or a record: an id, with what stands before it. */
  key: 1152,
  /** Of a message. */
  role: 256,
  /** The model and the source of a session. */
  model: 1024,
  /** The name of a session. */
  name: 65_536,
} as const;

/** Throws unless `text` has at most the bytes that its kind of name may have. `what` begins the sentence that says so. */
export function assertFits(
  text: string,
  what: string,
  kind: keyof typeof NAME_LIMITS,
  code: "INVALID_ARGUMENT" | "INVALID_MESSAGE" = "INVALID_ARGUMENT",
): void {
  const limit = NAME_LIMITS[kind];
  // No character takes more than three bytes for each of its units.
  if (text.length * 3 <= limit) return;
  const bytes = utf8Length(text);
  if (bytes <= limit) return;
  const [most, has] = [limit, bytes].map((number) => number.toLocaleString("en"));
  const message = `${what} may have at most ${most} bytes of UTF-8; this one has ${has}. Use a shorter one.`;
  throw new StemmaError(code, { what, limit, bytes }, message);
}

const encoder = new TextEncoder();
const scratch = new Uint8Array(4096);

/** Bytes of a text in UTF-8. Written out and thrown away: the engine's own loop is far faster than one of ours. */
export function utf8Length(text: string): number {
  let bytes = 0;
  for (let start = 0; start < text.length; ) {
    const { read, written } = encoder.encodeInto(text.slice(start), scratch);
    start += read;
    bytes += written;
  }
  return bytes;
}

const UNREADABLE = "\ufffd";

/**
 * A text as a request to a model can hold it: U+FFFD stands for each half of a surrogate pair, which providers refuse, and for
 * each NUL, at which some servers stop reading. The same text when it has neither.
 */
export function sendableText(text: string): string {
  return isStorableText(text) ? text : text.toWellFormed().replaceAll("\0", UNREADABLE);
}

/** Mends every text and every key of a JSON value, however deep; gives the value itself when nothing is to mend. */
export function sendable<T>(value: T): T {
  return isWhole(value) ? value : (mended(value) as T);
}

/** A message as a request can hold it, under its own id; the same object when nothing is to mend. */
export function sendableMessage<M extends { readonly id: string }>(message: M): M {
  const changed = sendable(message);
  return changed === message ? message : { ...changed, id: message.id };
}

// Nearly always true, so it is found out without a copy.
function isWhole(value: unknown): boolean {
  if (typeof value === "string") return isStorableText(value);
  if (Array.isArray(value)) return value.every(isWhole);
  if (!isPlain(value)) return true;
  for (const key in value) if (!isStorableText(key) || !isWhole(value[key])) return false;
  return true;
}

function mended(value: unknown): unknown {
  if (typeof value === "string") return sendableText(value);
  if (Array.isArray(value)) return value.map(mended);
  return isPlain(value) ? withSendableKeys(Object.entries(value).map(([key, child]) => [key, mended(child)])) : value;
}

// Keys may become alike: the second one gets a mark more, and later ones a number behind it.
function withSendableKeys(entries: readonly [string, unknown][]): object {
  const taken = new Set(entries.map(([key]) => key));
  const copies = new Map<string, number>();
  const renamed = entries.map(([key, child]) => {
    if (isStorableText(key)) return [key, child] as const;
    const own = sendableText(key);
    let copy = copies.get(own) ?? 0;
    let free = own;
    while (taken.has(free)) free = `${own}${UNREADABLE}${++copy === 1 ? "" : copy}`;
    copies.set(own, copy);
    taken.add(free);
    return [free, child] as const;
  });
  return Object.fromEntries(renamed);
}

// What a class made, such as a date or bytes, says itself what it is sent as.
function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value) as unknown;
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
