import type { SessionMessage } from "./message.js";
import { sha256 } from "./sha256.js";

const BASE64 = /^[A-Za-z0-9+/_=-]+$/;

/**
 * True for a string that is a file's bytes rather than text: a `data:` URL, or base64 in a `data` field that stands
 * beside its media type. `holder` is the object the string was found in, under `key`.
 */
export function isInlineMedia(holder: unknown, key: string, value: unknown): value is string {
  if (typeof value !== "string") return false;
  if (value.startsWith("data:")) return value.slice(0, 256).includes(",");
  // The start tells: reading megabytes to be sure would cost more than the answer is worth.
  return key === "data" && mediaTypeOf(holder) !== null && BASE64.test(value.slice(0, 256));
}

/** The media type an object names for the data it holds; null when it names none. */
export function mediaTypeOf(holder: unknown): string | null {
  if (typeof holder !== "object" || holder === null) return null;
  const { mediaType, mimeType, media_type } = holder as Record<string, unknown>;
  const type = mediaType ?? mimeType ?? media_type;
  return typeof type === "string" ? type : null;
}

/** False for a JSON text that holds no inline media for sure. */
export function mayHoldMedia(json: string): boolean {
  return ['"data:', '"mediaType"', '"mimeType"', '"media_type"'].some((sign) => json.includes(sign));
}

/** Characters that `String.fromCharCode` takes in one call. */
const AT_ONCE = 8192;

/** Bytes as base64, with what every runtime has. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let at = 0; at < bytes.length; at += AT_ONCE) binary += String.fromCharCode(...bytes.subarray(at, at + AT_ONCE));
  return btoa(binary);
}

export function fromBase64(text: string): Uint8Array {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Where data was taken out of a message, and what its content has as a hash. */
export interface MediaPlace {
  readonly path: readonly (string | number)[];
  readonly hash: string;
}

/** Media shorter than this stay where they are: a row of their own would cost more. */
export const MIN_MEDIA_LENGTH = 2048;

/** Takes data: URLs, and base64 that stands beside its media type, out of the parts. `media` gets them by their hashes. */
export function takeMedia(message: SessionMessage, media: Map<string, string>): MediaPlace[] {
  const places: MediaPlace[] = [];
  const visit = (value: unknown, path: (string | number)[]): void => {
    if (typeof value !== "object" || value === null) return;
    const typed = "mediaType" in value || "mimeType" in value || "media_type" in value;
    for (const key of Object.keys(value)) {
      const child = (value as Record<string, unknown>)[key];
      if (typeof child !== "string") {
        visit(child, [...path, key]);
      } else if (
        child.length >= MIN_MEDIA_LENGTH &&
        (isDataUrl(child) || (typed && key === "data" && isBase64(child)))
      ) {
        const hash = sha256(child);
        media.set(hash, child);
        places.push({ path: [...path, key], hash });
        (value as Record<string, unknown>)[key] = "";
      }
    }
  };
  visit(message.parts, ["parts"]);
  return places;
}

/** Puts data that was taken out back into a message that was parsed anew. Throws where it has no such place. */
export function putMedia(message: object, places: readonly MediaPlace[], read: (hash: string) => string): void {
  for (const { path, hash } of places) {
    const holder = path.slice(0, -1).reduce<unknown>(ownField, message);
    const last = path[path.length - 1] as string;
    if (ownField(holder, last) !== "") throw new SyntaxError("Media of the message have no place in it.");
    (holder as Record<string, unknown>)[last] = read(hash);
  }
}

// Never what an object inherits: a path names fields of the message alone.
function ownField(holder: unknown, field: unknown): unknown {
  const isThere = typeof holder === "object" && holder !== null && Object.hasOwn(holder, field as string);
  if (!isThere) throw new SyntaxError("Media of the message have no place in it.");
  return (holder as Record<string, unknown>)[field as string];
}

// Only ASCII is taken out: it is the same in every encoding that a database may use.
const isDataUrl = (text: string) => text.startsWith("data:") && /^[\x20-\x7e]*$/.test(text);
const isBase64 = (text: string) => /^[A-Za-z0-9+/_=-]*$/.test(text);
