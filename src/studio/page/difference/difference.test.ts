import * as fc from "fast-check";
import { expect, it } from "vitest";
import { compareTexts } from "./difference.js";
import { folded } from "./folded.js";
import { compare } from "./shortest-script.js";

const side = (runs: ReturnType<typeof compare>, only: "removed" | "added") =>
  runs.flatMap(({ kind, items }) => (kind === "same" || kind === only ? items : []));

it("gives both sides back, and never two neighbours of one kind", () => {
  const list = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 30 });
  fc.assert(
    fc.property(list, list, (before, after) => {
      const runs = compare(before, after);
      expect(side(runs, "removed")).toEqual(before);
      expect(side(runs, "added")).toEqual(after);
      expect(runs.some((run, at) => run.kind === runs[at + 1]?.kind)).toBe(false);
    }),
  );
});

it("finds the shortest script", () => {
  const runs = compare([..."ABCABBA"], [..."CBABAC"]);
  const changed = runs.filter(({ kind }) => kind !== "same").flatMap(({ items }) => items);
  expect(changed).toHaveLength(5);
});

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

it("gives up looking for the shortest script of texts that have little in common", () => {
  const lines = (name: string) => Array.from({ length: 20_000 }, (_, line) => `${name} ${line}`);
  const started = performance.now();
  expect(compare(lines("a"), lines("b")).map(({ kind }) => kind)).toEqual(["removed", "added"]);
  expect(performance.now() - started).toBeLessThan(3000);
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
