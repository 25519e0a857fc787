import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  applyCompactions,
  type Compaction,
  selectCompactions,
  summaryMessage,
} from "../../../src/messages/compactions.js";
import type { SessionMessage } from "../../../src/messages/message.js";

interface Range {
  from: number;
  to: number;
}

// From the newest to the oldest, each that overlaps none already taken.
function select(compactions: readonly Range[]): Range[] {
  const taken: Range[] = [];
  for (const compaction of [...compactions].reverse()) {
    const overlaps = taken.some(({ from, to }) => compaction.from <= to && from <= compaction.to);
    if (compaction.from <= compaction.to && !overlaps) taken.push(compaction);
  }
  return taken.sort((a, b) => a.from - b.from);
}

const history = (count: number): SessionMessage[] =>
  Array.from({ length: count }, (_, index) => ({ id: `m${index}`, role: "user", parts: [] }));
const compaction = (id: string, from: number, to: number): Compaction => ({
  id,
  summary: `summary ${id}`,
  fromMessageId: `m${from}`,
  toMessageId: `m${to}`,
});
const idsOf = (messages: readonly SessionMessage[]) => messages.map(({ id }) => id);
const range = (most: number) => fc.record({ from: fc.nat(most), to: fc.nat(most) });

describe("selectCompactions", () => {
  it("prefers the newest of overlapping compactions and keeps the others, in the order of the path", () => {
    const wide = { from: 2, to: 9 };
    const inner = { from: 4, to: 5 };
    const last = { from: 10, to: 12 };
    expect(selectCompactions([last, wide, inner])).toEqual([inner, last]);
    expect(selectCompactions([inner, last, wide])).toEqual([wide, last]);
    expect(selectCompactions([])).toEqual([]);
  });

  it("takes compactions that touch at one message for overlapping", () => {
    const older = { from: 1, to: 4 };
    const newer = { from: 4, to: 6 };
    expect(selectCompactions([older, newer])).toEqual([newer]);
  });

  it("never applies a reversed compaction", () => {
    expect(selectCompactions([{ from: 5, to: 2 }])).toEqual([]);
  });

  it("chooses what going through them one by one would", () => {
    fc.assert(
      fc.property(fc.array(range(30), { maxLength: 25 }), (compactions) => {
        expect(selectCompactions(compactions)).toEqual(select(compactions));
      }),
      { numRuns: 500 },
    );
  });

  it("copes with a hundred thousand compactions", () => {
    const compactions = Array.from({ length: 100_000 }, (_, index) => ({
      from: (index * 7919) % 100_003,
      to: (index * 7919) % 100_003,
    }));
    expect(selectCompactions(compactions)).toHaveLength(100_000);
  });
});

describe("summaryMessage", () => {
  it("is an assistant's message with one text part and a reserved id", () => {
    expect(summaryMessage({ id: "x", summary: "S" })).toEqual({
      id: "compaction_x",
      role: "assistant",
      parts: [{ type: "text", text: "S" }],
    });
  });
});

describe("applyCompactions", () => {
  it("replaces a range by its summary", () => {
    const visible = applyCompactions(history(6), [compaction("a", 1, 3)]);
    expect(idsOf(visible)).toEqual(["m0", "compaction_a", "m4", "m5"]);
    expect(visible[1]?.parts).toEqual([{ type: "text", text: "summary a" }]);
  });

  it("applies several, the newest first where they overlap", () => {
    const compactions = [compaction("old", 1, 3), compaction("tail", 6, 7), compaction("new", 0, 4)];
    expect(idsOf(applyCompactions(history(9), compactions))).toEqual(["compaction_new", "m5", "compaction_tail", "m8"]);
  });

  it("leaves out compactions that are not wholly in the history, and reversed ones", () => {
    const messages = history(5);
    const compactions = [compaction("beyond", 3, 9), compaction("before", 9, 1), compaction("reversed", 3, 1)];
    expect(applyCompactions(messages, compactions)).toBe(messages);
  });

  it("leaves a history alone in which they were applied before", () => {
    const compactions = [compaction("wide", 1, 8), compaction("inner", 3, 5)];
    const once = applyCompactions(history(10), compactions);
    expect(idsOf(once)).toContain("compaction_inner");
    expect(applyCompactions(once, compactions)).toBe(once);
  });

  it("applies the rest where some were applied before", () => {
    const inner = applyCompactions(history(10), [compaction("inner", 3, 5)]);
    const compactions = [compaction("inner", 3, 5), compaction("wide", 1, 8)];
    expect(idsOf(applyCompactions(inner, compactions))).toEqual(["m0", "compaction_wide", "m9"]);
  });

  it("is idempotent, and never touches what it is given", () => {
    fc.assert(
      fc.property(fc.array(range(15), { maxLength: 10 }), (ranges) => {
        const compactions = ranges.map(({ from, to }, index) => compaction(`o${index}`, from, to));
        const messages = history(14);
        const once = applyCompactions(messages, compactions);
        expect(idsOf(messages)).toEqual(idsOf(history(14)));
        expect(applyCompactions(once, compactions)).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });
});
