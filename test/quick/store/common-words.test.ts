import { expect, it } from "vitest";
import type { EntryScope } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";

const FACTS: EntryScope = { sessionId: "", label: "facts", scope: { key: "team" } };

it("of words that more entries hold than are scored, the oldest that holds them together comes first", async () => {
  const store = memory();
  const set = (key: string, content: string) => ({ entries: FACTS, key, content });
  await store.writeTogether([
    set("all", "A house in a green street beside the river."),
    set("both", "A house in a street."),
    set("twice", "A river, and another river."),
  ]);
  for (let start = 0; start < 2200; start += 550) {
    const some = Array.from({ length: 550 }, (_, at) =>
      set(`${start + at}`, at % 2 === 0 ? `Lived in house ${start + at}.` : `Lived near street ${start + at}.`),
    );
    await store.writeTogether(some);
  }
  const found = async (query: string, limit: number) =>
    (await store.entries.search(FACTS, query, { limit })).map(({ key }) => key);
  expect((await found("house street", 2)).toSorted()).toEqual(["all", "both"]);
  expect(await found("green house", 1)).toEqual(["all"]);
  expect((await found("street river", 2)).toSorted()).toEqual(["all", "twice"]);
  // Of one word alone the newest count.
  expect(await found("house", 3)).toEqual(["2198", "2196", "2194"]);
  await store.close();
});
