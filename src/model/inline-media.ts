import type { SessionMessage } from "./message.js";
import { sha256 } from "./sha256.js";

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
