import type { SessionMessage } from "@stemma/model";
import { isJsonObject, type JsonObject, readToolPart } from "@stemma/model";
import type { StoredMessage } from "@stemma/store";
import { looseResults } from "../../item-messages.js";
import { findEntry, type PlacedEntry } from "./entries.js";
import { type MadeContent, madeContents, madeResults, madeUuid, resultsOf } from "./made/made-content.js";
import type { KeptEntry, StoredTranscript } from "./transcript.js";
import type { ClaudeSessionEntry } from "./types.js";
/**
 * The entries of a transcript in their order: Claude's as they were appended, and between them those that are made of what
 * other programs said, each below the entry of the message that it answers.
 */
export function entriesInOrder(sessionId: string, { messages, kept, end }: StoredTranscript): ClaudeSessionEntry[] {
  const own = new Map(messages.map(({ message }) => [message.id, findEntry(message)]));
  const said = [...own.values()].filter((placed) => placed !== null && placed.n < end) as PlacedEntry[];
  const placed: PlacedEntry[] = [...said, ...kept.filter(({ n }) => n < end)];
  const others = messages.filter(({ message }) => own.get(message.id) === null).map(({ message }) => message);
  const made = new MadeTimeline(sessionId, looseResults(others), waitingCalls(messages));
  const places = placesOfOthers(messages, own, kept, end);
  for (const stored of messages) {
    const { id } = stored.message;
    const origin = own.get(id) ?? null;
    const entries = origin === null ? made.of(stored) : made.behind(stored, origin.n < end ? origin.entry : null);
    placed.push(...entries.map((entry) => ({ n: origin?.n ?? places.get(id) ?? end, entry })));
  }
  return placed.sort((a, b) => a.n - b.n).map(({ entry }) => entry);
}

/** Makes the entries of messages, parents first. */
class MadeTimeline {
  /** For each message the uuid of the entry that what follows it hangs below; undefined for one that is not there yet. */
  readonly #ends = new Map<string, string | null | undefined>();

  /** Made entries have the fields of the last one of Claude before them. */
  #shared: JsonObject;

  constructor(
    sessionId: string,
    private readonly loose: ReturnType<typeof looseResults>,
    private readonly waiting: ReadonlySet<string>,
  ) {
    this.#shared = sharedFields({ sessionId });
  }

  /** The entries of a message of another program. */
  of({ message, parentId, createdAt: timestamp }: StoredMessage): ClaudeSessionEntry[] {
    const parentUuid = parentId === null ? null : this.#ends.get(parentId);
    this.#ends.set(message.id, parentUuid);
    if (parentUuid === undefined) return [];
    const contents = madeContents(message, this.loose, this.waiting);
    const entries = madeEntries(message, contents, this.#shared, { parentUuid, timestamp });
    this.#ends.set(message.id, entries.at(-1)?.uuid ?? parentUuid);
    return entries;
  }

  /** The entry behind one of Claude's, with the results that others gave to its calls. Null: that one is not there yet. */
  behind({ message, createdAt: timestamp }: StoredMessage, entry: ClaudeSessionEntry | null): ClaudeSessionEntry[] {
    this.#ends.set(message.id, entry === null ? undefined : message.id);
    if (entry === null) return [];
    this.#shared = sharedFields(entry);
    const blocks = madeResults(message);
    if (blocks.length === 0) return [];
    const results = { ...message, id: resultsOf(message.id) };
    const place = { parentUuid: message.id, timestamp };
    const entries = madeEntries(results, [{ type: "user", blocks }], this.#shared, place);
    this.#ends.set(message.id, entries[0]?.uuid);
    return entries;
  }
}

// Calls of Claude's own entries that none of its entries answers.
function waitingCalls(messages: readonly StoredMessage[]): Set<string> {
  const own = messages.filter(({ message }) => findEntry(message) !== null);
  const parts = own.flatMap(({ message }) => message.parts.map(readToolPart)).filter((part) => part !== null);
  const waiting = new Set(parts.flatMap(({ kind, toolCallId: id }) => (kind === "call" && id !== null ? [id] : [])));
  for (const { kind, toolCallId } of parts) if (kind === "result" && toolCallId !== null) waiting.delete(toolCallId);
  return waiting;
}

// Messages of others stand before the first entry of Claude that was written after them.
function placesOfOthers(
  messages: readonly StoredMessage[],
  own: ReadonlyMap<string, PlacedEntry | null>,
  kept: readonly KeptEntry[],
  end: number,
): Map<string, number> {
  const below = new Map<string, number>();
  for (const { parent, n } of kept) if (parent !== null) below.set(parent, Math.min(n, below.get(parent) ?? n));
  const places = new Map<string, number>();
  let next = end;
  for (const { message } of messages.toReversed()) {
    const origin = own.get(message.id) ?? null;
    next = Math.min(next, origin?.n ?? below.get(message.id) ?? next);
    if (origin === null) places.set(message.id, next - 0.5);
  }
  return places;
}

/** The fields that entries of one transcript share, and that a made one takes over from an entry of Claude. */
const SHARED = ["sessionId", "isSidechain", "agentId", "userType", "cwd", "version", "gitBranch"];

/** The fields that made entries share with another entry of the transcript. */
function sharedFields(entry: JsonObject): JsonObject {
  const shared = Object.entries(entry).filter(([field]) => SHARED.includes(field));
  return { isSidechain: false, userType: "external", ...Object.fromEntries(shared) };
}

/** Entries as Claude Code writes them, each below the one before, the first one below `parentUuid`. */
function madeEntries(
  { id, metadata }: SessionMessage,
  contents: readonly MadeContent[],
  shared: JsonObject,
  place: { readonly parentUuid: string | null; readonly timestamp: string },
): ClaudeSessionEntry[] {
  const model = isJsonObject(metadata) && typeof metadata.model === "string" ? metadata.model : "unknown";
  let { parentUuid } = place;
  return contents.map(({ type, blocks }, index) => {
    const uuid = madeUuid(id, contents.length - 1 - index);
    const entry: ClaudeSessionEntry = {
      ...shared,
      type,
      uuid,
      parentUuid,
      timestamp: place.timestamp,
      message: type === "user" ? { role: type, content: contentOf(blocks) } : answerOf(uuid, model, blocks),
    };
    parentUuid = uuid;
    return entry;
  });
}

function answerOf(uuid: string, model: string, content: JsonObject[]): JsonObject {
  const usage = { input_tokens: 0, output_tokens: 0 };
  const end = content.some(({ type }) => type === "tool_use") ? "tool_use" : "end_turn";
  return {
    ...{ id: `msg_${uuid}`, type: "message", role: "assistant", model, content },
    ...{ stop_reason: end, stop_sequence: null, usage },
  };
}

// A text by itself, as Claude Code writes what a user says.
function contentOf(blocks: JsonObject[]): string | JsonObject[] {
  const [only] = blocks;
  return blocks.length === 1 && only?.type === "text" ? String(only.text) : blocks;
}
