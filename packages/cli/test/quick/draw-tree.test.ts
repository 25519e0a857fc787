import { describe, expect, it } from "vitest";
import type { TreeNode } from "../../../store/src/contract/store.js";
import { drawTree } from "../../src/draw-tree.js";

const node = (id: string, parentId: string | null, preview = id): TreeNode => {
  return { id, parentId, role: "user", createdAt: "2026-01-01T00:00:00.000Z", preview };
};

function draw(messages: TreeNode[], width = 100): string[] {
  return [...drawTree({ messages, compactions: [], activeLeafId: null, width })];
}

describe("drawing a tree", () => {
  it("moves in for branches only, and shows several roots as branches", () => {
    const messages = [
      node("a", null),
      node("b", "a"),
      node("c", "b"),
      node("d", "b"),
      node("e", "c"),
      node("f", "c"),
      node("g", null),
    ];
    expect(draw(messages)).toEqual([
      "├─ user      a  a",
      "│  user      b  b",
      "│  ├─ user      c  c",
      "│  │  ├─ user      e  e",
      "│  │  └─ user      f  f",
      "│  └─ user      d  d",
      "└─ user      g  g",
    ]);
  });

  it("draws a conversation deeper than the call stack", () => {
    const messages = Array.from({ length: 50_000 }, (_, index) =>
      node(`${index}`, index === 0 ? null : `${index - 1}`),
    );
    expect(draw(messages)).toHaveLength(50_000);
  });

  it("keeps the active message on one line of 40 columns", () => {
    const id = "0123456789abcdef";
    const messages = [node(id, null, "x".repeat(200))];
    const [line] = drawTree({ messages, compactions: [], activeLeafId: id, width: 40 });
    expect(line).toBe("user      01234567  xxxxxxxxx…  ← active");
  });

  it("shortens ids as far as they differ, and texts to the width", () => {
    const [first, second] = draw(
      [node("message-0001", null, "x".repeat(200)), node("message-0002", "message-0001", " ")],
      60,
    );
    expect(first).toMatch(/^user {6}message-0001 {2}x+…$/);
    expect(first?.length).toBeLessThanOrEqual(60);
    expect(second).toBe("user      message-0002  (no text)");
  });

  it("takes linear time for branches in branches, and keeps to the width", () => {
    const size = 50_000;
    const messages = Array.from({ length: 2 * size }, (_, index) => {
      const level = Math.floor(index / 2);
      return node(`m${index}`, level === 0 ? null : `m${2 * (level - 1)}`, "hi");
    });
    const begun = performance.now();
    let longest = 0;
    for (const line of drawTree({ messages, compactions: [], activeLeafId: null, width: 100 }))
      longest = Math.max(longest, line.length);
    expect(longest).toBeLessThanOrEqual(100);
    expect(performance.now() - begun).toBeLessThan(5_000);
  });

  it("takes linear time for summaries of one beginning, each over more than the one before", () => {
    const ids = Array.from({ length: 20_000 }, (_, index) => `m${index}`);
    const messages = ids.map((id, index) => node(id, ids[index - 1] ?? null, "hi"));
    const compactions = ids.map((toMessageId, index) => {
      return { id: `c${index}`, summary: "s", fromMessageId: "m0", toMessageId, createdAt: "2026-01-01T00:00:00.000Z" };
    });
    const begun = performance.now();
    const lines = [...drawTree({ messages, compactions, activeLeafId: null, width: 100 })];
    expect(lines[2]).toContain("3 messages summarised");
    expect(lines).toHaveLength(2 * ids.length);
    expect(performance.now() - begun).toBeLessThan(3_000);
  });
});
