import type { SessionMessage, SessionMessagePart } from "@stemma/model";
import { isJsonObject, type JsonObject, Recent } from "@stemma/model";
import type { ParsedMessage } from "../stemma/session-file.js";

/** Characters of messages that are held to be completed by what comes later. */
const HELD = 500_000;
/** Calls that are known by their id. */
const CALLS = 10_000;

/** The messages of a piece of a session. One stays open for what completes it, and is then part of the next piece again. */
export class OpenMessages {
  readonly #held = new Recent<ParsedMessage>(HELD);
  /** For each call that waits: its message, and the places of its parts there. */
  readonly #calls = new Recent<{ readonly messageId: string; readonly places: number[] }>(CALLS);
  #piece = new Map<string, ParsedMessage>();

  /** Characters of the messages that may be completed. */
  get weight(): number {
    return this.#held.weight;
  }

  add(parsed: ParsedMessage, length: number): void {
    const { message } = parsed;
    this.#piece.set(message.id, parsed);
    this.#held.set(message.id, parsed, length);
    this.#noteCalls(message, 0);
  }

  /** The message with this id, to be changed. Undefined for one that is not open. */
  find(id: string | undefined): SessionMessage | undefined {
    const parsed = id === undefined ? undefined : this.#held.get(id);
    if (parsed === undefined) return undefined;
    const { message } = parsed;
    if (!this.#piece.has(message.id)) this.#piece.set(message.id, { ...parsed, again: true });
    return message;
  }

  /** The message above an open one; null above a root, and for a message that is not open. */
  parentOf(messageId: string): string | null {
    return this.#held.get(messageId)?.parentId ?? null;
  }

  /** Adds parts to an open message. */
  extend(message: SessionMessage, parts: readonly SessionMessagePart[], length: number): void {
    const before = message.parts.length;
    message.parts.push(...parts);
    this.#held.grow(message.id, length);
    this.#noteCalls(message, before);
  }

  /** Gives the call `callId` its result. The message that called; null when no open message waits for it. */
  answer(callId: unknown, fields: JsonObject, length: number): SessionMessage | null {
    if (typeof callId !== "string") return null;
    const call = this.#calls.get(callId);
    const message = this.find(call?.messageId);
    const place = call?.places.shift();
    const part = place === undefined ? undefined : message?.parts[place];
    if (message === undefined || place === undefined || part === undefined) return null;
    message.parts[place] = { ...part, ...fields };
    if (call?.places.length === 0) this.#calls.delete(callId);
    this.extend(message, [], length);
    return message;
  }

  /** The piece, which is begun anew. */
  take(): ParsedMessage[] {
    const piece = [...this.#piece.values()];
    this.#piece = new Map();
    return piece;
  }

  /** Forgets what may be completed. */
  forget(): void {
    this.#held.clear();
    this.#calls.clear();
  }

  // The later parts only: a message may have as many as its file has lines.
  #noteCalls({ id, parts }: SessionMessage, from: number): void {
    for (let place = from; place < parts.length; place += 1) {
      const { type, state, toolCallId } = parts[place] as SessionMessagePart;
      if (type !== "dynamic-tool" || state !== "input-available") continue;
      const known = this.#calls.get(String(toolCallId));
      if (known?.messageId === id) known.places.push(place);
      else this.#calls.set(String(toolCallId), { messageId: id, places: [place] });
    }
  }
}

/** Notes in a message that a further piece of the file, with this id, became part of it. */
export function addSource(message: SessionMessage, format: string, id: string): void {
  const noted = isJsonObject(message.metadata) ? message.metadata[format] : undefined;
  if (isJsonObject(noted) && Array.isArray(noted.sources) && noted.sources.at(-1) !== id) noted.sources.push(id);
}
