import { isSummaryMessage, type SessionMessage } from "../../model/message.js";
import type { TurnNote } from "./notes.js";
import { firstDifference, hashOf, partsOf, type RequestPart, sizeOf, sizeOfText } from "./parts.js";
import { summaryIn } from "./plan.js";
import type { PrefixBreak, ToldNote, TurnRecord, TurnState } from "./record.js";
import type { RefreshReason } from "./request.js";

/** A request as it is to be sent. */
export interface ComposedTurn {
  readonly target: SessionMessage | undefined;
  readonly refreshed: false | RefreshReason;
  readonly parts: readonly RequestPart[];
  /** The visible history. */
  readonly messages: readonly SessionMessage[];
  readonly notes: ReadonlyMap<string, TurnNote>;
}

/** What to keep of a request; `before` is what was sent last. */
export function recordOf(
  { target, refreshed, parts, messages, notes }: ComposedTurn,
  before: TurnState | null,
): TurnRecord {
  const isFixed = ({ source }: RequestPart) => source !== "message" && source !== "summary";
  return {
    messageId: target?.id ?? null,
    leafId: messages.at(-1)?.id ?? null,
    sentAt: Date.now(),
    refreshed,
    prefixHash: hashOf(parts),
    size: sizeOf(parts),
    fixed: parts.filter(isFixed).map(({ source, name, tokens, bytes }) => ({ source, name, tokens, bytes })),
    summaryIds: messages.filter(isSummaryMessage).map(({ id }) => id),
    history: { ...sizeOf(partsOf({}, "", messages)), count: messages.length },
    notes: messages.flatMap(({ id }) => {
      const note = notes.get(id);
      return note === undefined ? [] : [toldBy(note)];
    }),
    brokenAt: before === null ? null : breakOf(before, refreshed, parts, messages),
  };
}

function toldBy({ messageId, update, blocks, recall, recalled }: TurnNote): ToldNote {
  return { messageId, update: sizeOfText(update), labels: Object.keys(blocks), recall: sizeOfText(recall), recalled };
}

function breakOf(
  before: TurnState,
  refreshed: false | RefreshReason,
  parts: readonly RequestPart[],
  messages: readonly SessionMessage[],
): PrefixBreak | null {
  const found = firstDifference(before.outline, parts);
  if (found === null) return null;
  const { offset, part } = found;
  return {
    offset,
    source: part?.source ?? null,
    name: part?.name ?? null,
    by: causeOf(before, refreshed, part, messages),
  };
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
