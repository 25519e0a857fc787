import { type SessionMessage, SUMMARY_ID_PREFIX } from "./message.js";

/** A summary laid over a range of messages, both ends included. */
export interface Compaction {
  readonly id: string;
  readonly summary: string;
  readonly fromMessageId: string;
  readonly toMessageId: string;
}

/**
 * Of compactions of one path, oldest first, those that a reader sees: from the newest to the oldest, each that overlaps none
 * already taken. Positions are numbers that grow along the path; both ends belong to a compaction, and a reversed one never
 * applies. The result is in the order of the path. Takes O(k log k).
 */
export function selectCompactions<O extends { readonly from: number; readonly to: number }>(
  compactions: readonly O[],
): O[] {
  const byStart = compactions.filter(({ from, to }) => from <= to).sort((a, b) => a.from - b.from);
  if (byStart.length < 2) return byStart;
  const starts = byStart.map(({ from }) => from);
  // A binary indexed tree over starts: the last compaction taken that starts at or before a place.
  const last = new Int32Array(starts.length + 1).fill(-1);
  const lastTakenTo = (rank: number): O | undefined => {
    let found = -1;
    for (let node = rank; node > 0; node -= node & -node) found = Math.max(found, last[node] as number);
    return byStart[found];
  };
  const rankOf = new Map(byStart.map((compaction, rank) => [compaction, rank]));
  const taken: O[] = [];
  for (const compaction of compactions.toReversed()) {
    const rank = rankOf.get(compaction);
    if (rank === undefined) continue;
    const before = lastTakenTo(countUpTo(starts, compaction.to));
    if (before !== undefined && before.to >= compaction.from) continue;
    taken.push(compaction);
    for (let node = rank + 1; node < last.length; node += node & -node) {
      last[node] = Math.max(last[node] as number, rank);
    }
  }
  return taken.sort((a, b) => a.from - b.from);
}

/** The synthetic message that stands in a history for a compacted range. */
export function summaryMessage(compaction: { readonly id: string; readonly summary: string }): SessionMessage {
  return {
    id: `${SUMMARY_ID_PREFIX}${compaction.id}`,
    role: "assistant",
    parts: [{ type: "text", text: compaction.summary }],
  };
}

/**
 * Lays compactions, oldest first, over a history: each that applies is replaced by its synthetic message. One applies only if
 * both of its ends are in the history, in order. A history to which some or all were applied before may be given again:
 * those stay as they are. Touches neither argument; gives back `messages` itself when there is nothing to replace.
 */
export function applyCompactions(messages: SessionMessage[], compactions: readonly Compaction[]): SessionMessage[] {
  if (compactions.length === 0) return messages;
  const positions = positionsOf(messages, compactions);
  const placed = compactions.flatMap((compaction) => {
    const applied = positions.get(SUMMARY_ID_PREFIX + compaction.id);
    // A compaction that is applied already still keeps older ones from covering it.
    if (applied !== undefined)
      return [{ from: applied, to: applied, replacement: messages[applied] as SessionMessage }];
    const from = positions.get(compaction.fromMessageId);
    const to = positions.get(compaction.toMessageId);
    return from === undefined || to === undefined ? [] : [{ from, to, replacement: summaryMessage(compaction) }];
  });
  const visible: SessionMessage[] = [];
  let next = 0;
  let changed = false;
  for (const { from, to, replacement } of selectCompactions(placed)) {
    for (; next < from; next += 1) visible.push(messages[next] as SessionMessage);
    visible.push(replacement);
    changed ||= replacement !== messages[from];
    next = to + 1;
  }
  if (!changed) return messages;
  for (; next < messages.length; next += 1) visible.push(messages[next] as SessionMessage);
  return visible;
}

// Positions of the messages that compactions name, and of those that stand for one.
function positionsOf(messages: readonly SessionMessage[], compactions: readonly Compaction[]): Map<string, number> {
  const wanted = new Set<string>();
  for (const { id, fromMessageId, toMessageId } of compactions) {
    wanted
      .add(SUMMARY_ID_PREFIX + id)
      .add(fromMessageId)
      .add(toMessageId);
  }
  const positions = new Map<string, number>();
  messages.forEach(({ id }, index) => {
    if (wanted.has(id)) positions.set(id, index);
  });
  return positions;
}

// How many of the sorted numbers are at most `value`.
function countUpTo(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
