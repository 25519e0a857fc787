import fc from "fast-check";
import { expect, it } from "vitest";
import {
  AgentSearchProvider,
  createLearnFunction,
  type LearnEdit,
  SessionManager,
} from "../../../packages/stemma/src/session.js";
import type { EntryScope } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { textMessage } from "../../helpers/messages.js";

const FACTS: EntryScope = { sessionId: "", label: "facts", scope: "user" };
const DAY = 86_400_000;

/** An edit of entries about the home; what it names is a key, or a place in the list that the learn function is shown. */
interface Told extends Pick<LearnEdit, "action" | "validFrom" | "validTo"> {
  readonly city: string;
  readonly key?: string | number | undefined;
  readonly closes?: readonly (string | number)[] | undefined;
}

/** The entries that answers leave, each to a message of its own that was written some days after the one before, from 2020 on. */
async function learned(history: readonly { readonly days: number; readonly edits: readonly Told[] }[]) {
  const store = memory().forUser("ada");
  let at = Date.UTC(2020, 0, 1);
  for (const [index, { days, edits }] of history.entries()) {
    const learn = createLearnFunction({
      extract: ({ entries, messages }) => {
        const named = (each: number | string | undefined) => (typeof each === "number" ? entries[each]?.key : each);
        return edits.map(({ action, city, key, closes = [], ...times }) => ({
          ...{ action, label: "facts", content: `Lives in ${city}.`, subject: "home", ...times },
          ...{ key: named(key), supersedes: closes.flatMap((each) => named(each) ?? []) },
          messageIds: messages.map(({ id }) => id),
        }));
      },
    });
    const session = SessionManager.create(store)
      .withContext("facts", { provider: new AgentSearchProvider(store, { scope: "user" }) })
      .onLearning(learn)
      .getSession(`chat-${index}`);
    at += days * DAY;
    await session.appendMessage({ ...textMessage("told", "I moved."), createdAt: new Date(at).toISOString() });
    await session.close();
  }
  const all = await store.entries.list(FACTS, { includeEnded: true });
  await store.close();
  return all;
}

const year = (time: string | null) => time?.slice(0, 4) ?? null;

it("an entry that names others begins no earlier than what it took the place of already", async () => {
  const edits: Told[][] = [
    [{ action: "add", key: "bern", city: "Bern", validFrom: "2022" }],
    [{ action: "add", key: "lima", city: "Lima", validFrom: "2021", closes: ["bern"] }],
    [{ action: "add", key: "oslo", city: "Oslo", validFrom: "2023" }],
    [{ action: "add", key: "bern", city: "Rome", validFrom: "2017", closes: ["oslo"] }],
  ];
  const all = await learned(edits.map((each) => ({ days: 1, edits: each })));
  const bern = all.find(({ key }) => key === "bern");
  expect([year(bern?.validFrom ?? null), bern?.supersedes]).toEqual(["2022", ["lima"]]);
});

it("what is added to an entry that the answer has closed is an entry of its own", async () => {
  const first: Told[] = [{ action: "add", key: "bern", city: "Bern", validFrom: "2016" }];
  const then: Told[] = [
    { action: "add", key: "paris", city: "Paris", validFrom: "2017", closes: ["bern"] },
    { action: "add", key: "bern", city: "Rome", validFrom: "2023" },
  ];
  const all = await learned([first, then].map((edits) => ({ days: 1, edits })));
  const told = all.map(({ content, validFrom, validTo }) => [content, year(validFrom), year(validTo)]);
  expect(told.sort()).toEqual([
    ["Lives in Bern.", "2016", "2017"],
    ["Lives in Paris.", "2017", null],
    ["Lives in Rome.", "2023", null],
  ]);
});

it("what an answer closes it does not remove, whenever it says that this was", async () => {
  const first: Told[] = [{ action: "add", key: "paris", city: "Paris", validFrom: "2011" }];
  const then: Told[] = [
    { action: "add", key: "bern", city: "Bern", validFrom: "2017", closes: ["paris"] },
    { action: "remove", key: "paris", city: "Paris", validFrom: "2016" },
  ];
  const all = await learned([first, then].map((edits) => ({ days: 1, edits })));
  expect(all.map(({ key, validFrom, validTo }) => [key, year(validFrom), year(validTo)])).toEqual([
    ["bern", "2017", null],
    ["paris", "2011", "2017"],
  ]);
});

const anyYear = fc.option(fc.integer({ min: 2010, max: 2024 }).map(String), { nil: undefined });
const anyEdit: fc.Arbitrary<Told> = fc.record({
  action: fc.constantFrom("add" as const, "add" as const, "replace" as const, "remove" as const),
  city: fc.constantFrom("Bern", "Oslo", "Rome", "Paris"),
  key: fc.constantFrom<(string | number | undefined)[]>(undefined, "k0", "k1", "k2", 0, 1),
  validFrom: anyYear,
  validTo: fc.oneof({ weight: 9, arbitrary: fc.constant(undefined) }, anyYear),
  closes: fc.array(fc.nat(2), { maxLength: 2 }),
});
const anyAnswer = fc.record({
  days: fc.integer({ min: 1, max: 300 }),
  edits: fc.array(anyEdit, { minLength: 1, maxLength: 3 }),
});

it("whatever is answered, no fact takes the place of one that began later, and what is replaced has ended", async () => {
  const holds = fc.asyncProperty(fc.array(anyAnswer, { minLength: 2, maxLength: 4 }), async (history) => {
    const all = await learned(history);
    for (const { key, validFrom, supersedes } of all) {
      for (const before of all.filter((each) => supersedes.includes(each.key))) {
        expect([key, before.key, before.validTo]).not.toEqual([key, before.key, null]);
        if (validFrom !== null) expect((before.validFrom ?? "") <= validFrom).toBe(true);
      }
    }
  });
  await fc.assert(holds, { numRuns: 40, seed: 44 });
});
