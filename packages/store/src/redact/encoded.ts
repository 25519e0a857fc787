import { fromBase64, toBase64 } from "@stemma/model";

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
