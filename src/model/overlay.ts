import type { StoredCompaction } from "../storage/contract.js";
import { type SessionMessage, SUMMARY_ID_PREFIX } from "./message.js";

/** The overlays that apply, in the order of the path: the newest wins wherever two overlap. `overlays` are oldest first. */
export function selectOverlays<T extends { readonly from: number; readonly to: number }>(overlays: readonly T[]): T[] {
  const chosen: T[] = [];
  for (const overlay of overlays.slice().reverse()) {
    if (chosen.every(({ from, to }) => overlay.to < from || overlay.from > to)) chosen.push(overlay);
  }
  return chosen.sort((a, b) => a.from - b.from);
}

/** The message that a reader sees in the place of a compacted range. */
export function summaryMessage(compaction: { readonly id: string; readonly summary: string }): SessionMessage {
  return {
    id: SUMMARY_ID_PREFIX + compaction.id,
    role: "assistant",
    parts: [{ type: "text", text: compaction.summary }],
  };
}

/** A history with its overlays applied. Overlays whose ends are not both there are left out. */
export function applyOverlays(messages: readonly SessionMessage[], compactions: readonly StoredCompaction[]): SessionMessage[] {
  const index = new Map(messages.map((message, position) => [message.id, position]));
  const placed = compactions.flatMap((compaction) => {
    const from = index.get(compaction.fromMessageId);
    const to = index.get(compaction.toMessageId);
    return from === undefined || to === undefined || from > to ? [] : [{ ...compaction, from, to }];
  });
  const visible: SessionMessage[] = [];
  let next = 0;
  for (const overlay of selectOverlays(placed)) {
    visible.push(...messages.slice(next, overlay.from), summaryMessage(overlay));
    next = overlay.to + 1;
  }
  visible.push(...messages.slice(next));
  return visible;
}
