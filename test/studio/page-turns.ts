import type { ContextView, TurnRow } from "../../packages/studio/src/api.js";
import { HOSTILE, range, timeOf, type World } from "./page-world.js";

const FROZEN = `${"═".repeat(20)}\nSOUL (the agent's character)\n${"═".repeat(20)}\nYou are helpful.\nYou answer in short sentences.\n\n${range(
  0,
  20,
)
  .map((line) => `Rule ${line}: be kind.`)
  .join("\n")}\n\nFACTS [40%]\nThe user likes tea.\nThe user lives in Lisbon.`;

export function contextView(world: World, query: URLSearchParams): ContextView {
  if (world.pathLength === 0) return { explanation: null, blocks: [], frozenPrompt: null, currentPrompt: null };
  const turn = query.get("turn");
  const isLarge = world.pathLength > 1000;
  const part = (
    source: "tool" | "prompt" | "block" | "summary" | "message" | "update" | "recall",
    name: string,
    tokens: number,
    reason: string,
  ) => ({
    source,
    name,
    tokens,
    bytes: tokens * 4,
    reason,
  });
  const parts = [
    part("tool", "set_context", 210, "The model may write: FACTS, TASKS."),
    part("tool", "search_context", 180, "The model may search: KNOWLEDGE."),
    part("prompt", "", 60, "Stands in the prompt outside its blocks."),
    part("block", "SOUL", 420, "A block of the session, as the prompt froze it."),
    part(
      "block",
      isLarge ? (HOSTILE[0] ?? "") : "FACTS",
      310,
      "A block of the session, as the prompt froze it. It has changed since.",
    ),
    part("summary", "compaction_c1", 48, 'Stands for the messages from "m2" to "m21".'),
    ...range(22, isLarge ? 20_000 : 63).map((place) =>
      part("message", `m${place}`, 20 + (place % 7) * 31, "On the path to the message to be answered."),
    ),
    part("update", "m62", 35, "Changed after the prompt was frozen: FACTS."),
    part("recall", "m62", 120, 'Found in the user\'s memory: message "m3" of session "session-9".'),
  ];
  const tokens = parts.reduce((sum, each) => sum + each.tokens, 0);
  return {
    explanation: {
      ...turnOf(turn === null ? 3 : 10),
      messageId: turn ?? null,
      sentAt: turn === null ? null : Date.parse(timeOf(40)),
      tokens,
      parts,
      isOutdated: turn !== null,
      recall: { tokens: 120, ms: 12, isLate: false },
    },
    blocks: [
      { label: "soul", tokens: 420, maxTokens: null, version: null },
      { label: "facts", tokens: 330, maxTokens: 800, version: 12 },
      { label: "tasks", tokens: 590, maxTokens: 600, version: 3 },
    ],
    frozenPrompt: FROZEN,
    currentPrompt: FROZEN.replace("likes tea", "likes green tea").replace("[40%]", "[44%]"),
  };
}

export function turnOf(place: number): TurnRow {
  const isBroken = place % 8 === 2;
  return {
    messageId: `m${place}`,
    sentAt: Date.parse(timeOf((64 - place) * 30)),
    tokens: 4000 + place * 131,
    bytes: 16_000 + place * 520,
    refreshed: isBroken ? "blocks" : false,
    prefixHash: (place * 7919).toString(16).padStart(4, "0").repeat(16),
    brokenAt: isBroken ? { offset: 2210, source: "block", name: "FACTS", by: "blocks" } : null,
  };
}
