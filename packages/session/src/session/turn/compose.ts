import { isSummaryMessage, type SessionMessage, utf8Length, yieldIfDue } from "@stemma/model";
import type { PrefixBreak, ToldNote, TurnRecord, TurnState } from "./log.js";
import type { TurnNote } from "./notes.js";
import { firstDifference, hashOf, type RequestPart, sizeOf, sizeOfText, sizesOf } from "./parts.js";
import { summaryIn } from "./plan.js";
import type { RefreshReason } from "./request.js";

/** A request as it is to be sent. */
export interface ComposedTurn {
  readonly target: SessionMessage | undefined;
  readonly refreshed: false | RefreshReason;
  readonly parts: readonly RequestPart[];
  /** The visible history. */
  readonly messages: readonly SessionMessage[];
  readonly notes: ReadonlyMap<string, TurnNote>;
  readonly system: string;
  /** The prompt that was frozen before, with its digest; null without one. */
  readonly frozen: { readonly text: string; readonly digest: string } | null;
}

/** What to keep of a request; `before` is what was sent last. */
export async function recordOf(turn: ComposedTurn, before: TurnState | null): Promise<TurnRecord> {
  const { target, refreshed, parts, messages, notes } = turn;
  const isFixed = ({ source }: RequestPart) => source !== "message" && source !== "summary";
  const prefixHash = hashOf(parts);
  await yieldIfDue();
  const history = { ...sizeOf(await sizesOf(messages)), count: messages.length };
  await yieldIfDue();
  return {
    messageId: target?.id ?? null,
    leafId: messages.at(-1)?.id ?? null,
    sentAt: Date.now(),
    refreshed,
    prefixHash,
    size: sizeOf(parts),
    fixed: parts.filter(isFixed).map(({ source, name, tokens, bytes }) => ({ source, name, tokens, bytes })),
    summaryIds: messages.filter(isSummaryMessage).map(({ id }) => id),
    history,
    notes: messages.flatMap(({ id }) => {
      const note = notes.get(id);
      return note === undefined ? [] : [toldBy(note)];
    }),
    brokenAt: before === null ? null : breakOf(before, turn),
  };
}

function toldBy({ messageId, update, blocks, recall, recalled }: TurnNote): ToldNote {
  return { messageId, update: sizeOfText(update), labels: Object.keys(blocks), recall: sizeOfText(recall), recalled };
}

function breakOf(before: TurnState, turn: ComposedTurn): PrefixBreak | null {
  const { refreshed, parts, messages } = turn;
  const found = firstDifference(before.outline, parts);
  if (found === null) return null;
  const { part } = found;
  const inPrompt = part?.source === "prompt" || part?.source === "block" ? sameOfPrompt(before, turn) : null;
  return {
    offset: inPrompt ?? found.offset,
    source: part?.source ?? null,
    name: part?.name ?? null,
    by: causeOf(before, refreshed, part, messages),
  };
}

// How many bytes are the same up to a place within the prompt; null where the one that was sent is not known any more.
function sameOfPrompt({ prompt }: TurnState, { frozen, system, parts }: ComposedTurn): number | null {
  if (frozen === null || frozen.digest !== prompt) return null;
  const tools = sizeOf(parts.filter(({ source }) => source === "tool"));
  return tools.bytes + samePrefixBytes(frozen.text, system);
}

// Half a surrogate pair has no bytes of its own.
function samePrefixBytes(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  let same = 0;
  while (same < length && one.charCodeAt(same) === other.charCodeAt(same)) same += 1;
  return utf8Length(one.slice(0, same).replace(/[\ud800-\udbff]$/, ""));
}

function causeOf(
  before: TurnState,
  refreshed: false | RefreshReason,
  part: RequestPart | null,
  messages: readonly SessionMessage[],
): PrefixBreak["by"] {
  if (part?.source === "tool") return "tools";
  if (refreshed !== false) return refreshed;
  if (part?.source === "prompt" || part?.source === "block") return "prompt";
  if (summaryIn(messages) !== before.summaryId) return "compaction";
  return messages.some(({ id }) => id === before.leafId) ? "edit" : "branch";
}
