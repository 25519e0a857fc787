import { fromBase64, toBase64 } from "../../model/base64.js";

const HEAD = /^data:(?<type>[\w.+-]+\/[\w.+-]+)?(?:;[\w-]+=[^;,\s]*)*(?<base64>;base64)?,/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const TEXTS = /^(?:text\/|application\/(?:json|xml|javascript|yaml|toml|sql|rtf|x-[\w-]*)|.*\+(?:json|xml)$)/i;

/**
 * Redacts a text; of a `data:` URL the text that is encoded in it. One of bytes, as an image, is no text, and stays as it is.
 */
export function redactDataUrl(text: string, redact: (text: string) => string): string {
  const head = text.startsWith("data:") ? HEAD.exec(text) : null;
  if (head === null) return redact(text);
  const [start] = head;
  const { type = "text/plain", base64 } = head.groups ?? {};
  const data = text.slice(start.length);
  if (base64 === undefined) {
    const plain = decoded(() => decodeURIComponent(data));
    if (plain === null || plain === data) return redact(text);
    const redacted = redact(plain);
    return redacted === plain ? text : start + encodeURIComponent(redacted);
  }
  if (!BASE64.test(data)) return redact(text);
  if (!TEXTS.test(type)) return text;
  const plain = decoded(() => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(fromBase64(data)));
  if (plain === null) return text;
  const redacted = redact(plain);
  return redacted === plain ? text : start + toBase64(new TextEncoder().encode(redacted));
}

function decoded(decode: () => string): string | null {
  try {
    return decode();
  } catch {
    return null;
  }
}
