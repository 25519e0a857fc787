import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { SessionMessage } from "./message.js";
import { applyOverlays, type Overlay, selectOverlays, summaryMessage } from "./overlay.js";

interface Range {
  from: number;
  to: number;
}

// From the newest to the oldest, each that overlaps none already taken.
function select(overlays: readonly Range[]): Range[] {
  const taken: Range[] = [];
  for (const overlay of [...overlays].reverse()) {
    const overlaps = taken.some(({ from, to }) => overlay.from <= to && from <= overlay.to);
    if (overlay.from <= overlay.to && !overlaps) taken.push(overlay);
  }
  return taken.sort((a, b) => a.from - b.from);
}

const history = (count: number): SessionMessage[] =>
  Array.from({ length: count }, (_, index) => ({ id: `m${index}`, role: "user", parts: [] }));
const overlay = (id: string, from: number, to: number): Overlay => ({
  id,
  summary: `summary ${id}`,
  fromMessageId: `m${from}`,
  toMessageId: `m${to}`,
});
const idsOf = (messages: readonly SessionMessage[]) => messages.map(({ id }) => id);
const range = (most: number) => fc.record({ from: fc.nat(most), to: fc.nat(most) });

describe("selectOverlays", () => {
  it("prefers the newest of overlapping overlays and keeps the others, in the order of the path", () => {
    const wide = { from: 2, to: 9 };
    const inner = { from: 4, to: 5 };
    const last = { from: 10, to: 12 };
    expect(selectOverlays([last, wide, inner])).toEqual([inner, last]);
    expect(selectOverlays([inner, last, wide])).toEqual([wide, last]);
    expect(selectOverlays([])).toEqual([]);
  });

  it("takes overlays that touch at one message for overlapping", () => {
    const older = { from: 1, to: 4 };
    const newer = { from: 4, to: 6 };
    expect(selectOverlays([older, newer])).toEqual([newer]);
  });

  it("never applies a reversed overlay", () => {
    expect(selectOverlays([{ from: 5, to: 2 }])).toEqual([]);
  });

  it("chooses what going through them one by one would", () => {
    fc.assert(
      fc.property(fc.array(range(30), { maxLength: 25 }), (overlays) => {
        expect(selectOverlays(overlays)).toEqual(select(overlays));
      }),
      { numRuns: 500 },
    );
  });

  it("copes with a hundred thousand overlays", () => {
    const overlays = Array.from({ length: 100_000 }, (_, index) => ({
      from: (index * 7919) % 100_003,
      to: (index * 7919) % 100_003,
    }));
    expect(selectOverlays(overlays)).toHaveLength(100_000);
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

describe("applyOverlays", () => {
  it("replaces a range by its summary", () => {
    const visible = applyOverlays(history(6), [overlay("a", 1, 3)]);
    expect(idsOf(visible)).toEqual(["m0", "compaction_a", "m4", "m5"]);
    expect(visible[1]?.parts).toEqual([{ type: "text", text: "summary a" }]);
  });

  it("applies several, the newest first where they overlap", () => {
    const overlays = [overlay("old", 1, 3), overlay("tail", 6, 7), overlay("new", 0, 4)];
    expect(idsOf(applyOverlays(history(9), overlays))).toEqual(["compaction_new", "m5", "compaction_tail", "m8"]);
  });

  it("leaves out overlays that are not wholly in the history, and reversed ones", () => {
    const messages = history(5);
    const overlays = [overlay("beyond", 3, 9), overlay("before", 9, 1), overlay("reversed", 3, 1)];
    expect(applyOverlays(messages, overlays)).toBe(messages);
  });

  it("leaves a history alone in which they were applied before", () => {
    const overlays = [overlay("wide", 1, 8), overlay("inner", 3, 5)];
    const once = applyOverlays(history(10), overlays);
    expect(idsOf(once)).toContain("compaction_inner");
    expect(applyOverlays(once, overlays)).toBe(once);
  });

  it("applies the rest where some were applied before", () => {
    const inner = applyOverlays(history(10), [overlay("inner", 3, 5)]);
    const overlays = [overlay("inner", 3, 5), overlay("wide", 1, 8)];
    expect(idsOf(applyOverlays(inner, overlays))).toEqual(["m0", "compaction_wide", "m9"]);
  });

  it("is idempotent, and never touches what it is given", () => {
    fc.assert(
      fc.property(fc.array(range(15), { maxLength: 10 }), (ranges) => {
        const overlays = ranges.map(({ from, to }, index) => overlay(`o${index}`, from, to));
        const messages = history(14);
        const once = applyOverlays(messages, overlays);
        expect(idsOf(messages)).toEqual(idsOf(history(14)));
        expect(applyOverlays(once, overlays)).toBe(once);
      }),
      { numRuns: 1_000 },
    );
  });
});
