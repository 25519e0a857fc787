import type { MemoryBlock } from "../../packages/studio/src/api.js";
import { HOSTILE, range, timeOf, type World } from "./page-world.js";

export function blocks(world: World): MemoryBlock[] {
  const block = (label: string, content: string, version: number): MemoryBlock => ({
    label,
    content,
    tokens: Math.ceil(content.length / 4),
    version,
    updatedAt: timeOf(30),
  });
  const ordinary = [
    block("facts", versionOf(12).content ?? "", 12),
    block("tasks", "- [x] Add the index\n- [ ] Tell Ada", 3),
    block("persona", "", 1),
  ];
  return world.pathLength > 1000 ? [...ordinary, block(HOSTILE[1] ?? "", "x".repeat(1_000_000), 900)] : ordinary;
}

export function versionOf(version: number) {
  const facts = [
    "The user likes green tea.",
    "The user lives in Lisbon.",
    "The user travels by train.",
    "Ada's birthday is on May 4.",
  ];
  const lines = range(0, 4)
    .filter((line) => (version + line) % 3 !== 0)
    .map((line) => facts[line] ?? "");
  const authors = ["model", "program", "learning", "import"] as const;
  return {
    version,
    content: [...lines, `Last seen on day ${version}.`].join("\n"),
    writtenAt: timeOf((13 - version) * 700),
    author: authors[version % 4] ?? null,
    sessionId: version % 4 === 1 ? null : "session-2",
    messageIds: version % 2 === 0 ? [`m${version * 2}`] : [],
    toolCallId: null,
  };
}
