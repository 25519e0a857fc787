import type { UIMessage } from "ai";
import type { ChatTree } from "stemma/react";

export interface Line {
  readonly summary: string;
  /** The messages that it stands for; null when some of them are not shown. */
  readonly count: number | null;
}

/** The summaries that the model reads on the shown branch, by the last message that each stands for. Of two that overlap the newer one counts. */
export function summaryLines(
  messages: readonly UIMessage[],
  compactions: ChatTree["compactions"],
  hasPrevious: boolean,
): Map<string, Line> {
  const places = new Map(messages.map(({ id }, index) => [id, index]));
  const lines = new Map<string, Line>();
  const taken: { from: number; to: number }[] = [];
  for (const { fromMessageId, toMessageId, summary } of [...compactions].reverse()) {
    const to = places.get(toMessageId);
    const known = places.get(fromMessageId);
    const from = known ?? (hasPrevious ? 0 : undefined);
    if (to === undefined || from === undefined || from > to) continue;
    if (taken.some((other) => from <= other.to && to >= other.from)) continue;
    taken.push({ from, to });
    lines.set(toMessageId, { summary, count: known === undefined ? null : to - from + 1 });
  }
  return lines;
}
