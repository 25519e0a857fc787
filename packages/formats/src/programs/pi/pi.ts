// One reader of one kind of file, from its entries to a session.
import { isJsonObject, isoTime, type JsonObject, nameOf, quote, type SessionMessage } from "@stemma/model";
import { nameSession } from "../../conversations.js";
import { deriveId } from "../../identity.js";
import { parseEntry, readLines } from "../../json-items.js";
import { Lineage, missingParent } from "../../lineage.js";
import { keep, type OriginEntry, without } from "../../origin.js";
import { UsageCount } from "../../session-builder.js";
import {
  costOf,
  findTime,
  type ImportFormat,
  type ParsedMessage,
  type ParsedSession,
  type Position,
  type Skipped,
  tokensOf,
  type Unread,
} from "../../stemma/session-file.js";
import { contentOfOutput, isToolResult, keepEntry, outputFields, readEntry, rebuildEntry } from "./pi-content.js";

/** Session files of the coding agent pi, with ids (a tree) and without (the first version: a line of entries). */
export const pi: ImportFormat = {
  name: "pi",
  about: "pi session files (JSONL): a session header, then an entry per line",
  recognises: (first) => isJsonObject(first) && first.type === "session" && typeof first.id === "string",
  async *read(items) {
    let tree: PiTree | null = null;
    let early: Skipped[] = [];
    const skip = (at: Position, why: string) => (tree?.skipped ?? early).push({ ...at, why });
    for await (const { line: entry, at } of readLines(items, parseEntry, skip)) {
      if (entry.type === "session" && typeof entry.id === "string") {
        if (tree !== null) yield closeSession(tree);
        tree = new PiTree(entry, early);
        early = [];
      } else if (tree === null) {
        skip(at, "it stands before the session's header");
      } else {
        tree.add(entry, at);
      }
    }
    if (tree !== null) yield closeSession(tree);
  },
};

function closeSession(tree: PiTree): ParsedSession {
  const { header, sessionId, messages } = tree;
  const model = tree.model ?? header.modelId;
  const { sum, rows } = tree.usage.totals(true);
  return nameSession({
    id: sessionId,
    name: tree.name,
    source: "pi",
    model: typeof model === "string" ? model : undefined,
    usage: sum,
    usageRows: rows,
    messages,
    compactions: tree.compactions,
    activeLeafId: tree.leafId ?? undefined,
    skipped: tree.skipped,
    unread: tree.unread,
  });
}

function countUsage(count: UsageCount, timestamp: unknown, message: JsonObject): void {
  const { usage, model } = message;
  if (!isJsonObject(usage)) return;
  const inputTokens = tokensOf(usage.input) + tokensOf(usage.cacheRead) + tokensOf(usage.cacheWrite);
  const outputTokens = tokensOf(usage.output);
  const cost = isJsonObject(usage.cost) ? costOf(usage.cost.total) : 0;
  // An answer that pi ended before it began, or that no model gave.
  if (inputTokens === 0 && outputTokens === 0 && cost === 0) return;
  count.add(dayOf(timestamp) ?? dayOf(message.timestamp), nameOf(model) ?? "", { inputTokens, outputTokens, cost }, 1);
}

// Entries tell their time as text, messages in milliseconds.
function dayOf(timestamp: unknown): string | undefined {
  const time = typeof timestamp === "number" ? isoTime(timestamp) : findTime(timestamp);
  return time?.slice(0, 10);
}

/** Types of entries that are no messages. */
const BESIDE = [
  "session",
  "session_info",
  "model_change",
  "thinking_level_change",
  "compaction",
  "branch_summary",
  "label",
  "custom",
];

/**
 * Turns pi's entries into our messages while they come in. The results of tools, entries of their own in pi, go into the
 * message that called them; entries that are no messages are kept beside the message they follow.
 */
class PiTree {
  readonly sessionId: string;
  readonly messages: ParsedMessage[] = [];
  readonly compactions: ParsedSession["compactions"] = [];
  readonly usage = new UsageCount();
  name = "";
  model: string | null = null;
  readonly unread: Unread[] = [];
  readonly #nodes: (Node | null)[] = [null];
  readonly #byId = new Map<string, Node>();
  readonly #copies = new Map<Node, number>();
  readonly #lineage = new Lineage<Node | null>(null);
  #first: Variant | null = null;
  #before: OriginEntry[];

  constructor(
    readonly header: JsonObject,
    readonly skipped: Skipped[],
  ) {
    this.sessionId = String(header.id);
    this.#before = [{ n: 0, whole: header }];
  }

  /** The message that the file's last entry stands at. */
  get leafId(): string | null {
    const place = this.#lineage.last?.place ?? null;
    return place === null ? null : this.#at(place, false).message.id;
  }

  add(entry: JsonObject, at: Position): void {
    const { id, parentId } = entry;
    if (typeof id === "string" && this.#byId.has(id)) {
      this.skipped.push({ ...at, why: `the id ${quote(id)} stands in the file twice; the first is preserved` });
      return;
    }
    const n = this.#nodes.length;
    this.#note(entry);
    const { place: parent, isMissing } = this.#lineage.above(parentId, (named) => this.#byId.get(named));
    if (isMissing) this.skipped.push({ ...at, why: missingParent(String(parentId), parent?.place != null) });
    const node: Node = { entry, parent, place: parent?.place ?? null, isMessage: false };
    this.#nodes.push(node);
    if (typeof id === "string") this.#byId.set(id, node);
    this.#lineage.last = node;
    if (this.#answer(node, n)) return;
    const read = readEntry(entry);
    if (read !== null) this.#addMessage(node, read, n, at);
    else if (!BESIDE.includes(String(entry.type)))
      this.unread.push({ what: `an entry of the type ${quote(String(entry.type))}`, at });
    if (read === null) (node.place?.variant.entries ?? this.#first?.entries ?? this.#before).push({ n, whole: entry });
    if (read === null && entry.type === "compaction") this.#addCompaction(node, at);
  }

  /** Notes what an entry tells of the session: its name, its model, what an answer cost. */
  #note({ type, name, message, timestamp }: JsonObject): void {
    if (type === "session_info" && typeof name === "string") this.name = name;
    if (!isJsonObject(message) || message.role !== "assistant") return;
    if (typeof message.model === "string") this.model = message.model;
    countUsage(this.usage, timestamp, message);
  }

  #addMessage(node: Node, read: Pick<SessionMessage, "role" | "parts" | "createdAt">, n: number, at: Position): void {
    const parent = node.place === null ? null : this.#at(node.place, false);
    if (parent !== null) parent.sealed = true;
    const parentId = parent?.message.id ?? null;
    const { id } = node.entry;
    const entries = [...this.#before, keepEntry(n, node.entry, read.parts)];
    this.#before = [];
    const message = {
      id: typeof id === "string" ? id : deriveId(this.sessionId, parentId, node.entry),
      ...read,
      metadata: { pi: { entries } },
    };
    const variant: Variant = { message, at, parent, origin: node, entries, answered: [], sealed: false };
    this.#first ??= variant;
    node.place = { variant, answered: 0 };
    node.isMessage = true;
    this.messages.push({ message, parentId, at });
  }

  /** Puts a tool's result into the message before it, where its call waits. False when there is none. */
  #answer(node: Node, n: number): boolean {
    const { entry, place } = node;
    if (place === null || !isToolResult(entry)) return false;
    const before = place.variant.answered.slice(0, place.answered);
    const index = place.variant.message.parts.findIndex(
      (part, index) =>
        part.type === "dynamic-tool" && part.toolCallId === entry.message.toolCallId && !before.includes(index),
    );
    if (index === -1) return false;
    const variant = this.#at(place, true);
    const part = { ...variant.message.parts[index], type: "dynamic-tool", ...outputFields(entry.message) };
    variant.message.parts[index] = part;
    variant.answered.push(index);
    const rest = { ...entry, message: without(entry.message, "content") };
    const fields = keep(entry, rest, (stripped) => rebuildEntry(stripped, contentOfOutput(part)));
    variant.entries.push({ n, part: index, ...fields });
    node.place = { variant, answered: variant.answered.length };
    node.isMessage = true;
    return true;
  }

  /** The message of a place with just the answers that the place has; for one more answer, a message without followers. */
  #at(place: Place, toAnswer: boolean): Variant {
    const { variant, answered } = place;
    if (variant.answered.length === answered && !(toAnswer && variant.sealed)) return variant;
    const copy = this.#copy(variant, answered);
    // Whoever comes to this place next and does not answer stands below the same copy.
    if (!toAnswer) place.variant = copy;
    return copy;
  }

  #copy(variant: Variant, answered: number): Variant {
    const number = (this.#copies.get(variant.origin) ?? 1) + 1;
    this.#copies.set(variant.origin, number);
    const copy = copyOf(variant, answered, number);
    this.messages.push({ message: copy.message, parentId: copy.parent?.message.id ?? null, at: copy.at });
    return copy;
  }

  #addCompaction(node: Node, position: Position): void {
    const { id, summary, timestamp, firstKeptEntryId, firstKeptEntryIndex } = node.entry;
    const preserved =
      typeof firstKeptEntryIndex === "number"
        ? this.#nodes[firstKeptEntryIndex]
        : this.#byId.get(String(firstKeptEntryId));
    const covered = coveredBy(node, preserved);
    const [from] = covered;
    const to = covered.at(-1);
    if (typeof summary !== "string" || summary === "" || from === undefined || to === undefined) {
      const why = "the compaction covers no message, or has no summary; it is kept beside its message only";
      this.skipped.push({ ...position, why });
      return;
    }
    this.compactions.push({
      id: typeof id === "string" ? id : deriveId(this.sessionId, to.message.id, node.entry),
      summary,
      fromMessageId: from.message.id,
      toMessageId: to.message.id,
      createdAt: findTime(timestamp),
    });
  }
}

/** An entry in pi's tree. */
interface Node {
  entry: JsonObject;
  parent: Node | null;
  place: Place | null;
  /** True when it became a message, or a part of one. */
  isMessage: boolean;
}

/** Where a path stands after an entry: at a message, with so many of its calls answered. Null before the first message. */
interface Place {
  variant: Variant;
  answered: number;
}

/** One of our messages. An assistant's has more than one when branches answer its calls differently. */
interface Variant {
  message: SessionMessage;
  at: Position;
  parent: Variant | null;
  /** The entry it was made of. */
  origin: Node;
  entries: OriginEntry[];
  /** Indexes of the parts whose results came, in order. */
  answered: number[];
  /** True once a message hangs below: a result that comes now belongs to another branch. */
  sealed: boolean;
}

/** The message with the first `answered` of its answers only, as its copy with this number. */
function copyOf(variant: Variant, answered: number, number: number): Variant {
  const message = structuredClone(variant.message);
  const undone = variant.answered.slice(answered);
  for (const index of undone) {
    const { output: _, errorText: __, ...part } = message.parts[index] ?? { type: "dynamic-tool" };
    message.parts[index] = { ...part, state: "input-available" };
  }
  const end = variant.entries.findIndex(({ part }) => part !== undefined && undone.includes(part));
  const entries = structuredClone(end === -1 ? variant.entries : variant.entries.slice(0, end));
  message.id = `${variant.message.id.replace(/~\d+$/, "")}~${number}`;
  message.metadata = { pi: { entries } };
  return { ...variant, message, entries, answered: variant.answered.slice(0, answered), sealed: false };
}

/** The messages that a compaction stands for: in pi everything on its path before `kept`, the first entry that it keeps. */
function coveredBy(node: Node, preserved: Node | null | undefined): readonly Variant[] {
  const above: Variant[] = [];
  for (let variant = node.place?.variant ?? null; variant !== null; variant = variant.parent) above.push(variant);
  above.reverse();
  let firstKept: Node | null = null;
  let at = node.parent;
  for (; at !== null && at !== preserved; at = at.parent) if (at.isMessage) firstKept = at;
  if (at?.isMessage) firstKept = at;
  const origin = at === null ? null : firstKept?.place?.variant.origin;
  const end = above.findIndex((variant) => variant.origin === origin);
  return end === -1 ? above : above.slice(0, end);
}
