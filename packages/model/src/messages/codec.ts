import { findJsonObject } from "../lib/json.js";
import { type MediaPlace, MIN_MEDIA_LENGTH, mayHoldMedia, putMedia, takeMedia } from "./media.js";
import { assertMessage, givenMessage, type SessionMessage, takeSerialised } from "./message.js";
import { documentOf, isoTime, searchableText } from "./text.js";
import { estimateMessageTokens } from "./tokens.js";

/** A last field of the stored object, for what plain JSON cannot say. Readers of the table may ignore it. */
const MARKER = "$stemma";

interface Marker {
  /** `createdAt` was a `Date`. */
  date?: true;
  /** Where media were taken out. */
  media?: MediaPlace[];
  /** The message had a field named like the marker; this is its value. */
  own?: unknown;
  /** The whole content stands elsewhere, under this key: the row would have been too large. */
  split?: string;
}

/** False for what cannot be read as a marker. */
function isMarker(value: unknown): value is Marker {
  if (typeof value !== "object" || value === null) return false;
  const { date, media, split } = value as Record<keyof Marker, unknown>;
  if (split !== undefined && typeof split !== "string") return false;
  return (
    (date === undefined || date === true) && (media === undefined || (Array.isArray(media) && media.every(isPlace)))
  );
}

function isPlace(value: unknown): boolean {
  const { path, hash } = (value ?? {}) as { path?: unknown; hash?: unknown };
  return typeof hash === "string" && Array.isArray(path) && path.length > 1;
}

/** A message made ready to be written: validated, serialised, measured. Making one touches no store. */
export interface EncodedMessage {
  readonly id: string;
  readonly role: string;
  /** The JSON text of the message, with inline media taken out. */
  readonly content: string;
  /** The searchable text; "" when there is none. */
  readonly text: string;
  /** The text that is indexed; "" when there is none. */
  readonly document: string;
  readonly tokens: number;
  /** The message's own `createdAt` as ISO text, when it has one that is a time. */
  readonly createdAt: string | null;
  /** The media that were taken out of `content`, once per content, with their SHA-256 in hex. */
  readonly media: readonly { readonly hash: string; readonly data: string }[];
}

/** Stands in a content that says less, or more, than the message it stands for. */
export const MARK = `"${MARKER}":`;

/** True for such a content. */
export function isMarked(content: string): boolean {
  // The marker is an object and the last field, which most contents need not be searched for.
  return content.endsWith("}}") && content.includes(MARK);
}

/** Throws for what `encodeMessage` refuses, without the work of encoding. */
export function assertEncodable(given: unknown): void {
  const message = givenMessage(given);
  assertMessage(message, takeSerialised(message) as string);
}

/**
 * Validates a message and makes it ready to be written. It is read once, as JSON; all that is checked, indexed and measured
 * is what that gave; `tools` says whether its tool calls are indexed. Errors: `INVALID_MESSAGE`, `INVALID_TEXT`, `MESSAGE_TOO_LARGE`.
 */
export function encodeMessage(given: unknown, tools = false): EncodedMessage {
  const message = givenMessage(given);
  let content = takeSerialised(message) as string;
  assertMessage(message, content);
  const marker: Marker = {};
  if (message.createdAt instanceof Date) marker.date = true;
  if (Object.hasOwn(message, MARKER)) {
    const { [MARKER]: own, ...fields } = message as SessionMessage & { [MARKER]: unknown };
    marker.own = own;
    content = JSON.stringify(fields);
  }
  const taken = new Map<string, string>();
  if (content.length > MIN_MEDIA_LENGTH && mayHoldMedia(content)) {
    const copy = JSON.parse(content) as SessionMessage;
    const places = takeMedia(copy, taken);
    if (places.length > 0) {
      marker.media = places;
      content = JSON.stringify(copy);
    }
  }
  const media = [...taken].map(([hash, data]) => ({ hash, data }));
  if (marker.date || marker.media || marker.own !== undefined) {
    content = `${content.slice(0, -1)},"${MARKER}":${JSON.stringify(marker)}}`;
  }
  const { text, document, tokens, createdAt } = measureMessage(message, tools);
  return { id: message.id, role: message.role, content, text, document, tokens, createdAt, media };
}

/** Measures a message for the columns beside its content. */
export function measureMessage(
  message: SessionMessage,
  tools: boolean,
): Pick<EncodedMessage, "text" | "document" | "tokens" | "createdAt"> {
  return {
    text: searchableText(message),
    document: documentOf(message, tools),
    tokens: estimateMessageTokens(message),
    createdAt: isoTime(message.createdAt),
  };
}

/** A stored message some of whose data lies outside its row. */
export class PendingMessage {
  constructor(
    private readonly marker: Marker,
    private readonly content: string,
  ) {}

  /** Keys of the data to read: media hashes, or the key of the whole content. */
  get keys(): string[] {
    if (this.marker.split !== undefined) return [this.marker.split];
    return [...new Set(this.marker.media?.map((place) => place.hash))];
  }

  /** The message, once its data is there; another `PendingMessage` when the content itself had been moved out. Throws when a key is missing. */
  complete(data: ReadonlyMap<string, string>): SessionMessage | PendingMessage {
    const read = (key: string): string => {
      const found = data.get(key);
      if (found === undefined) throw new SyntaxError(`The data ${key} of the message is missing.`);
      return found;
    };
    if (this.marker.split !== undefined) return decodeMessage(read(this.marker.split));
    // Parsed anew, so that completing twice gives two messages.
    const message: Record<string, unknown> = JSON.parse(this.content);
    putMedia(message, this.marker.media ?? [], read);
    return unmarked(message, this.marker);
  }
}

/** Gives back a message as it was given to `encodeMessage`, or what must be read first. Throws what `JSON.parse` throws. */
export function decodeMessage(content: string): SessionMessage | PendingMessage {
  const message = JSON.parse(content);
  if (!Array.isArray(message?.parts)) throw new SyntaxError("The stored content is not a message.");
  if (!Object.hasOwn(message, MARKER)) return message;
  const marker: unknown = message[MARKER];
  if (!isMarker(marker)) throw new SyntaxError("What the message says of its storage cannot be read.");
  if (marker.media !== undefined || marker.split !== undefined) return new PendingMessage(marker, content);
  return unmarked(message, marker);
}

/**
 * A content that another program wrote, in which a field of the marker's name is the message's own: as it is, but that
 * field kept from being taken for ours. Null when it is no message.
 */
export function foreignContent(content: string): { content: string; message: SessionMessage } | null {
  const message = findJsonObject(content);
  if (!Array.isArray(message?.parts)) return null;
  const read = message as unknown as SessionMessage;
  if (!Object.hasOwn(message, MARKER)) return { content, message: read };
  const { [MARKER]: own, ...fields } = message;
  return { content: JSON.stringify({ ...fields, [MARKER]: { own } satisfies Marker }), message: read };
}

/** The content of a row whose real content was moved out, to be found under `key`. */
export function splitContent(message: { id: string; role: string }, key: string): string {
  return JSON.stringify({ id: message.id, role: message.role, parts: [], [MARKER]: { split: key } satisfies Marker });
}

function unmarked(message: Record<string, unknown>, marker: Marker): SessionMessage {
  delete message[MARKER];
  if (marker.own !== undefined) message[MARKER] = marker.own;
  if (marker.date) message.createdAt = new Date(message.createdAt as string);
  return message as unknown as SessionMessage;
}
