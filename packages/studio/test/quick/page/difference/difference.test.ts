import { expect, it } from "vitest";
import { compareTexts, folded } from "../../../../src/page/difference/difference-view.js";

it("marks the words that differ within a changed line", () => {
  expect(compareTexts("name: Ada\nlikes tea", "name: Ada\nlikes green tea")).toEqual([
    { kind: "same", before: [{ text: "name: Ada", isMarked: false }], after: [{ text: "name: Ada", isMarked: false }] },
    {
      kind: "changed",
      before: [
        { text: "likes ", isMarked: false },
        { text: "tea", isMarked: false },
      ],
      after: [
        { text: "likes ", isMarked: false },
        { text: "green ", isMarked: true },
        { text: "tea", isMarked: false },
      ],
    },
  ]);
});

it("shows lines that only one side has", () => {
  expect(compareTexts("a", "a\nb\nc").map(({ kind }) => kind)).toEqual(["same", "added", "added"]);
  expect(compareTexts("a\nb", "b").map(({ kind }) => kind)).toEqual(["removed", "same"]);
});

it("folds long runs of equal lines, but for those beside a difference", () => {
  const lines = Array.from({ length: 40 }, (_, line) => `line ${line}`);
  const changed = lines.map((line, place) => (place === 20 ? "another" : line));
  const pieces = folded(compareTexts(lines.join("\n"), changed.join("\n")));
  expect(pieces.map(({ start, rows, isFolded }) => [start, rows.length, isFolded])).toEqual([
    [0, 17, true],
    [17, 7, false],
    [24, 16, true],
  ]);
  expect(folded(compareTexts("a\nb", "a\nb"))).toHaveLength(1);
});

it("shows no line where there was no text", () => {
  expect(compareTexts("", "a")).toMatchObject([{ kind: "added", before: null }]);
  expect(compareTexts("", "")).toEqual([]);
});
