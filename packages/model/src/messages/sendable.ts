import type { SessionMessage } from "./message.js";

const UNREADABLE = "\ufffd";

/**
 * A text as a request to a model can hold it: U+FFFD stands for each half of a surrogate pair, which providers refuse, and for
 * each NUL, at which some servers stop reading. The same text when it has neither.
 */
export function sendableText(text: string): string {
  return isSendable(text) ? text : text.toWellFormed().replaceAll("\0", UNREADABLE);
}

/** Mends every text and every key of a JSON value, however deep; gives the value itself when nothing is to mend. */
export function sendable<T>(value: T): T {
  return isWhole(value) ? value : (mended(value) as T);
}

/** A message as a request can hold it, under its own id; the same object when nothing is to mend. */
export function sendableMessage<M extends SessionMessage>(message: M): M {
  const changed = sendable(message);
  return changed === message ? message : { ...changed, id: message.id };
}

function isSendable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

// Nearly always true, so it is found out without a copy.
function isWhole(value: unknown): boolean {
  if (typeof value === "string") return isSendable(value);
  if (Array.isArray(value)) return value.every(isWhole);
  if (!isPlain(value)) return true;
  for (const key in value) if (!isSendable(key) || !isWhole(value[key])) return false;
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
    if (isSendable(key)) return [key, child] as const;
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
