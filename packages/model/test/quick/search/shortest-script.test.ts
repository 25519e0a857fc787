import * as fc from "fast-check";
import { expect, it } from "vitest";
import { cpuTimeOf } from "../../../../../test/helpers/cpu-time.js";
import { patience } from "../../../../../test/helpers/patience.js";
import { compare } from "../../../src/search/joined-terms.js";

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

it("gives up looking for the shortest script of texts that have little in common", () => {
  const lines = (name: string) => Array.from({ length: 20_000 }, (_, line) => `${name} ${line}`);
  const time = cpuTimeOf(() => {
    expect(compare(lines("a"), lines("b")).map(({ kind }) => kind)).toEqual(["removed", "added"]);
  });
  expect(time).toBeLessThan(patience(3000));
});
