import {
  foldLabel,
  forEachYielding,
  isSummaryMessage,
  type SessionMessage,
  summaryMessage,
  yieldIfDue,
} from "@stemma/model";
import type { StoredCompaction } from "@stemma/store";
import type { LiveBlock } from "../../context/live-block.js";
import type { RecalledPlace } from "../recall/recall-options.js";
import type { LoggedNote, LoggedTurn, PrefixBreak, RecallCost } from "./log.js";
import { type ContextSize, type PartSource, type RefreshReason, sizeOf, sizesOf } from "./request.js";

/** A piece of a request, and why it is there. */
export interface ContextPart extends ContextSize {
  /**
   * `"update"` and `"recall"` are what is told behind the user's message `name`: changed blocks, quotes of what was recalled. Behind a
   * summary, `"update"` says what it is.
   */
  readonly source: PartSource | "update" | "recall";
  /** The tool's name, the block's label in upper case, or the message's id. */
  readonly name: string;
  /** Why it is there, as a sentence. */
  readonly reason: string;
}

/** The pieces of a request to the model, and why they are there. */
export interface ContextExplanation extends ContextSize {
  /** The message that it answers; null without one. */
  readonly messageId: string | null;
  /** Milliseconds since 1970; null for the next request. */
  readonly sentAt: number | null;
  readonly refreshed: false | RefreshReason;
  readonly prefixHash: string;
  /** In the order in which providers cache them: tools, prompt, messages, each with what is told behind it. */
  readonly parts: readonly ContextPart[];
  /** The cost of its recall, and whether that took longer than `maxMs`; null for a request without `recall`. */
  readonly recall: RecallCost | null;
  /** Where it stops being the same as the request before; null where it begins with all of that one. */
  readonly brokenAt: PrefixBreak | null;
  /** True when messages of a past request have since been edited or removed: `parts` shows them as they are now. */
  readonly isOutdated: boolean;
}

export interface ExplainedParts {
  /** The visible history, without what is told behind messages. */
  readonly messages: readonly SessionMessage[];
  readonly blocks: readonly LiveBlock[];
  readonly compactions: readonly StoredCompaction[];
}

/** Explains a request from what is logged of it. */
export async function explainTurn(
  turn: Omit<LoggedTurn, "sentAt"> & { sentAt: number | null },
  now: ExplainedParts,
): Promise<ContextExplanation> {
  const notes = new Map(turn.notes.map((note) => [note.messageId, note]));
  const fixed = turn.fixed.map((part) => ({ ...part, reason: reasonOf(part.source, part.name, turn, now.blocks) }));
  const shown = await sizesOf(now.messages);
  const history: ContextPart[] = [];
  await forEachYielding(shown, ({ source, name, tokens, bytes }) => {
    const reason = source === "summary" ? coverOf(name, now.compactions) : messageReason(name, turn.messageId);
    history.push({ source, name, tokens, bytes, reason }, ...noteParts(notes.get(name)));
  });
  const { tokens, bytes } = turn.size;
  const { messageId, sentAt, refreshed, prefixHash, recall, brokenAt } = turn;
  await yieldIfDue();
  const isOutdated = now.messages.length !== turn.history.count || sizeOf(shown).bytes !== turn.history.bytes;
  return {
    messageId,
    sentAt,
    refreshed,
    prefixHash,
    tokens,
    bytes,
    parts: [...fixed, ...history],
    // Of an earlier version's log it is not there.
    recall: recall ?? null,
    brokenAt,
    isOutdated,
  };
}

function noteParts(note: LoggedNote | undefined): ContextPart[] {
  if (note === undefined) return [];
  const { messageId: name, update, labels, recall, recalled } = note;
  const parts: ContextPart[] = [];
  if (update.bytes > 0) {
    const changed = `Changed after the prompt was frozen: ${labels.join(", ")}.`;
    const reason = isSummaryMessage({ id: name })
      ? "Says what a summary is, and how to read what it stands for."
      : changed;
    parts.push({ source: "update", name, ...update, reason });
  }
  if (recall.bytes > 0) {
    const reason = `Found in the user's memory: ${recalled.map(describePlace).join(", ")}.`;
    parts.push({ source: "recall", name, ...recall, reason });
  }
  return parts;
}

function describePlace(place: RecalledPlace): string {
  if (place.kind === "message") return `message "${place.messageId}" of session "${place.sessionId}"`;
  const key = typeof place.scope === "object" ? ` of key "${place.scope.key}"` : "";
  const of = place.scopeName === undefined ? key : ` of scope ${place.scopeName}`;
  return `entry "${place.key}" of ${foldLabel(place.block ?? place.label)}${of}`;
}

function reasonOf(
  source: PartSource,
  name: string,
  turn: Pick<LoggedTurn, "notes">,
  blocks: readonly LiveBlock[],
): string {
  if (source === "tool") return toolReason(name, blocks);
  if (source === "prompt") return "Stands in the prompt outside its blocks.";
  const later = turn.notes.filter(({ labels }) => labels.includes(name)).at(-1);
  const since = later === undefined ? "" : ` It has changed since; message "${later.messageId}" tells how.`;
  return `A block of the session, as the prompt froze it.${since}`;
}

function toolReason(name: string, blocks: readonly LiveBlock[]): string {
  const labels = (matches: (block: LiveBlock) => boolean) =>
    blocks
      .filter(matches)
      .map(({ label }) => foldLabel(label))
      .join(", ");
  switch (name) {
    case "set_context":
      return `The model may write: ${labels(({ shape }) => shape.writable)}.`;
    case "load_context":
    case "unload_context":
      return `The model may load documents of: ${labels(({ shape }) => shape.isSkill)}.`;
    case "search_context":
      return `The model may search: ${labels(({ shape }) => shape.isSearchable)}.`;
    default:
      return "The model may read the messages under a summary.";
  }
}

function coverOf(messageId: string, compactions: readonly StoredCompaction[]): string {
  const found = compactions.find((compaction) => summaryMessage(compaction).id === messageId);
  if (found === undefined) return "A summary that was taken back since.";
  return `Stands for the messages from "${found.fromMessageId}" to "${found.toMessageId}".`;
}

function messageReason(id: string, answered: string | null): string {
  return id === answered ? "The message to be answered." : "On the path to the message to be answered.";
}
