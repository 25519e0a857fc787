import type { SessionMessage } from "@stemma/model";
import { fromBase64, invalid, isInlineMedia, mediaTypeOf, noMessage, type StemmaError } from "@stemma/model";
import type { SessionStore } from "@stemma/store";
import type { MediaStub } from "./api.js";
import { respond } from "./http/failure.js";
export interface PathView {
  /** The message that the path ends with; undefined for the active leaf. */
  readonly leafId: string | undefined;
  /** As the model sees it, or as stored. */
  readonly summaries: boolean;
  /** The message that it begins with, where that is not the root; only of a view without summaries. */
  readonly firstId?: string;
}

export interface PageRequest {
  /** Without one, the newest. */
  readonly from: string | undefined;
  readonly direction: "older" | "newer" | "around";
  readonly limit: number;
}

interface PathPage {
  readonly messages: SessionMessage[];
  readonly hasOlder: boolean;
  readonly hasNewer: boolean;
}

/** A page ends early where its messages have more characters of JSON than this. */
const MOST_CHARACTERS = 4_000_000;

/** Reads a page of a path, and no more than that. Errors: `MESSAGE_NOT_FOUND` for a leaf, or a message that the view does not show. */
export async function takePage(session: SessionStore, view: PathView, request: PageRequest): Promise<PathPage> {
  const { from, direction, limit } = request;
  if (from === undefined || direction === "older") {
    const { taken, more } = await take(backward(session, view, from), limit);
    return { messages: taken.reverse(), hasOlder: more, hasNewer: from !== undefined };
  }
  if (direction === "newer") {
    const { taken, more } = await take(forward(session, view, from), limit);
    return { messages: taken, hasOlder: true, hasNewer: more };
  }
  const older = await take(backward(session, view, from), Math.floor(limit / 2));
  // Behind the one before it stands the message itself.
  const newer = await take(forward(session, view, older.taken[0]?.id), limit - older.taken.length);
  return { messages: [...older.taken.reverse(), ...newer.taken], hasOlder: older.more, hasNewer: newer.more };
}

async function* backward(
  session: SessionStore,
  { firstId, ...path }: PathView,
  after: string | undefined,
): AsyncGenerator<SessionMessage> {
  if (after !== undefined && after === firstId) return;
  for await (const message of session.stream({
    ...path,
    onCorrupt: "skip",
    newestFirst: true,
    after,
    createdAt: true,
  })) {
    yield message;
    if (message.id === firstId) return;
  }
}

async function* forward(
  session: SessionStore,
  { firstId, ...path }: PathView,
  after: string | undefined,
): AsyncGenerator<SessionMessage> {
  if (firstId !== undefined && after === undefined) yield await messageOf(session, firstId);
  yield* session.stream({ ...path, onCorrupt: "skip", after: after ?? firstId, createdAt: true });
}

async function messageOf(session: SessionStore, id: string): Promise<SessionMessage> {
  const message = await session.message(id, { createdAt: true });
  if (message !== null) return message;
  throw noMessage(session.id, id);
}

async function take(
  messages: AsyncIterable<SessionMessage>,
  limit: number,
): Promise<{ taken: SessionMessage[]; more: boolean }> {
  const taken: SessionMessage[] = [];
  let characters = 0;
  for await (const message of messages) {
    if (taken.length >= limit || characters > MOST_CHARACTERS) return { taken, more: true };
    taken.push(message);
    characters += JSON.stringify(message).length;
  }
  return { taken, more: false };
}

/** The fields of a part that hold media. */
const FIELDS = ["url", "data", "image"];

/** Types that a browser shows and does not run. An SVG runs only as a document, which the sandbox prevents. */
const SHOWN = /^(?:image|audio|video)\/[\w.+-]+$/;

/** A copy of a message with a stub in the place of each of its media. */
export function withStubs(message: SessionMessage): SessionMessage {
  return { ...message, parts: replaced(message.parts, "/parts") as SessionMessage["parts"] };
}

function replaced(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((each, index) => replaced(each, `${path}/${index}`));
  if (typeof value !== "object" || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    const place = `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const fieldCopy = isMedia(value, key, field) ? stubOf(value, field, place) : replaced(field, place);
    // A field may be called "__proto__".
    Object.defineProperty(copy, key, { value: fieldCopy, enumerable: true, configurable: true, writable: true });
  }
  return copy;
}

function isMedia(holder: object, key: string, value: unknown): value is string {
  return FIELDS.includes(key) && isInlineMedia(holder, key === "image" ? "data" : key, value);
}

function stubOf(holder: object, text: string, path: string): MediaStub {
  const { mediaType, isBase64, start } = describe(holder, text);
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const length = text.length - start;
  return { $media: { mediaType, bytes: isBase64 ? Math.floor(((length - padding) * 3) / 4) : length, path } };
}

interface Media {
  readonly mediaType: string | null;
  readonly isBase64: boolean;
  /** Where the data begins. */
  readonly start: number;
}

function describe(holder: unknown, text: string): Media {
  if (!text.startsWith("data:")) return { mediaType: mediaTypeOf(holder), isBase64: true, start: 0 };
  const comma = text.indexOf(",");
  const [type = "", ...parameters] = text.slice("data:".length, comma).split(";");
  const isBase64 = parameters.at(-1)?.trim().toLowerCase() === "base64";
  return { mediaType: type === "" ? mediaTypeOf(holder) : type, isBase64, start: comma + 1 };
}

/**
 * Answers with the media that stand at `path`, a JSON Pointer, in a message. A type that may be shown has its own content
 * type, any other is a download. Errors: `INVALID_ARGUMENT` for a path where there are none.
 */
export function mediaOf(message: SessionMessage, path: string): Response {
  const keys = path.split("/").map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  const key = keys.pop() ?? "";
  const holder = keys.slice(1).reduce<unknown>((value, each) => ownField(value, each), message);
  const text = ownField(holder, key);
  if (typeof holder !== "object" || holder === null || !isMedia(holder, key, text)) throw noMedia(path);
  const { mediaType, isBase64, start } = describe(holder, text);
  const type = mediaType?.toLowerCase() ?? "";
  const isShown = SHOWN.test(type);
  return respond(bytesOf(text.slice(start), isBase64, path), {
    headers: {
      "content-type": isShown ? type : "application/octet-stream",
      "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox",
      ...(isShown ? {} : { "content-disposition": "attachment" }),
    },
  });
}

function ownField(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}

function bytesOf(data: string, isBase64: boolean, path: string): Uint8Array<ArrayBuffer> {
  try {
    const bytes = isBase64
      ? fromBase64(data.replaceAll("-", "+").replaceAll("_", "/"))
      : new TextEncoder().encode(decodeURIComponent(data));
    return bytes as Uint8Array<ArrayBuffer>;
  } catch {
    throw noMedia(path);
  }
}

function noMedia(path: string): StemmaError {
  return invalid("There are no media at this place of the message.", { path });
}
