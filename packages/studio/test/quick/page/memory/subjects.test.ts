import { expect, it } from "vitest";
import type { EntryRow } from "../../../../src/api.js";
import { bySubject, spanOf } from "../../../../src/page/memory/subjects.js";

const row = (key: string, tags: string[], holds = true): EntryRow => {
  return { key, preview: "", validFrom: null, validTo: null, tags, holds, updatedAt: "2026-11-22T00:00:00.000Z" };
};
const shown = (entries: EntryRow[], ...open: string[]) =>
  bySubject(entries, new Set(open)).map((each) => {
    if (each.kind === "entry") return each.entry.key;
    return each.kind === "subject" ? `# ${each.name}` : `${each.count} of ${each.name}`;
  });

it("puts entries under their subject, or their first tag, and those without one last", () => {
  const entries = [row("a", []), row("b", ["vip", "subject:work"]), row("c", ["home"]), row("d", ["subject:home"])];
  expect(shown(entries)).toEqual(["# home", "c", "d", "# work", "b", "# ", "a"]);
  expect(shown([row("a", []), row("b", [])])).toEqual(["a", "b"]);
});

it("folds what does not hold now", () => {
  const entries = [row("old", ["home"], false), row("new", ["home"])];
  expect(shown(entries)).toEqual(["# home", "new", "1 of home"]);
  expect(shown(entries, "home")).toEqual(["# home", "new", "1 of home", "old"]);
});

it("says when an entry holds", () => {
  const now = new Date("2026-11-22T00:00:00.000Z");
  const span = (validFrom: string | null, validTo: string | null, holds: boolean) =>
    spanOf({ validFrom, validTo, holds }, now);
  const [june, march] = ["2025-06-01T00:00:00.000Z", "2026-03-12T08:00:00.000Z"];
  expect(span(null, null, true)).toBe("");
  expect(span(june, null, true)).toBe("since June 2025");
  expect(span(june, "2027-01-02T00:00:00.000Z", true)).toBe("since June 2025, until January 2, 2027");
  expect(span(june, march, false)).toBe("June 2025 – March 12, 2026");
  expect(span(null, march, false)).toBe("until March 12, 2026");
  expect(span("2027-01-01T00:00:00.000Z", null, false)).toBe("from January 2027");
});
