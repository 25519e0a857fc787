import { expect, it } from "vitest";
import {
  AgentSearchProvider,
  createLearnFunction,
  type Extracted,
  type LearnFunction,
  SessionManager,
} from "../../../packages/stemma/src/session.js";
import type { EntryScope } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { textMessage } from "../../helpers/messages.js";

const FACTS: EntryScope = { sessionId: "", label: "facts", scope: "user" };

/** What is learned of one message of June 1, what is left out, and what it failed with. */
async function learned(learn: LearnFunction) {
  const store = memory().forUser("ada");
  await store.entries.set(FACTS, {
    key: "rome",
    content: "Lives in Rome.",
    validFrom: "2020-01-01",
    tags: ["subject:home"],
  });
  const session = SessionManager.create(store)
    .withContext("facts", { provider: new AgentSearchProvider(store, { scope: "user" }) })
    .withContext("notes", { scope: "user" })
    .onLearning(learn)
    .getSession("chat");
  const told = { skipped: [] as string[], errors: [] as string[] };
  session.subscribe((event) => {
    if (event.type === "learning") told.skipped = event.skipped.map(({ reason }) => reason);
    if (event.type === "cf_agent_session_error") told.errors.push(event.error);
  });
  await session.appendMessage({ ...textMessage("m-1", "I moved."), createdAt: "2026-06-01T10:00:00.000Z" });
  await session.close();
  const cost = (await store.sessions.get("chat"))?.estimated_cost;
  const all = await store.entries.list(FACTS, { includeEnded: true });
  const entries = all.map(({ key, validFrom, validTo }) => [key, validFrom?.slice(0, 10), validTo?.slice(0, 10)]);
  const notes = (await session.readContextBlock("notes"))?.content;
  await store.close();
  return { ...told, entries, notes, cost };
}

const answered = (answer: unknown) => learned(createLearnFunction({ extract: () => answer as Extracted }));
const edit = (more: object) => ({ action: "add", label: "facts", key: "k", content: "Lives in Bern.", ...more });
const ROME = ["rome", "2020-01-01", undefined];

it("reads the fields of an edit under the names of the prompt and of an edit, as text, number or list", async () => {
  const closed = ["rome", "2020-01-01", "2021-01-01"];
  for (const more of [
    { messages: [1], since: "2021", closes: ["rome"] },
    { messages: "1", since: 2021, closes: "rome", key: "k", old: null },
    { messageIds: ["m-1"], validFrom: "2021-01", supersedes: ["rome"] },
    { messageIds: 1, since: "2021-01-01T00:00", supersedes: "rome" },
  ]) {
    const { skipped, errors, entries } = await answered(JSON.stringify([edit({ subject: "home", ...more })]));
    expect([more, skipped, errors, entries]).toEqual([more, [], [], [["k", "2021-01-01", undefined], closed]]);
  }
  const { entries } = await answered({ text: JSON.stringify([edit({ messages: [1], until: "2024" })]) });
  expect(entries).toEqual([["k", undefined, "2024-01-01"], ROME]);
});

it("closes the entry that a replace with another text and a later beginning names, and keeps it", async () => {
  const bern = { action: "replace", label: "facts", key: "rome", content: "Lives in Bern.", messages: [1] };
  const closed = ["rome", "2020-01-01", "2021-01-01"];
  const bernKey = expect.stringMatching(/^lives-in-bern-/);
  const { skipped, entries } = await answered(JSON.stringify([{ ...bern, since: "2021" }]));
  expect([skipped, entries]).toEqual([[], [[bernKey, "2021-01-01", undefined], closed]]);
  // Twice in one answer: a chain.
  const oslo = { ...bern, content: "Lives in Oslo.", since: "2023" };
  const chain = await answered(JSON.stringify([{ ...bern, since: "2021" }, oslo]));
  expect(chain.entries).toEqual([
    [bernKey, "2021-01-01", "2023-01-01"],
    [expect.stringMatching(/^lives-in-oslo-/), "2023-01-01", undefined],
    closed,
  ]);
  // What is corrected without a later date is written anew.
  for (const since of [undefined, "2020", "2019"]) {
    const { entries } = await answered(JSON.stringify([{ ...bern, since }]));
    expect(entries).toEqual([["rome", since === "2019" ? "2019-01-01" : "2020-01-01", undefined]]);
  }
});

it("says of each edit in a text that is not made, or not whole, why", async () => {
  const ground = "it names no message that it comes from";
  const cases: [unknown, string, boolean][] = [
    [edit({ messages: [0] }), ground, false],
    [edit({ messages: [7] }), ground, false],
    [edit({ messages: [1, 7] }), ground, false],
    [edit({ messageIds: ["other"] }), ground, false],
    [edit({}), ground, false],
    [edit({ messages: [1], action: "upsert" }), "it is no edit", false],
    [edit({ messages: [1], key: 5 }), "it is no edit", false],
    [edit({ messages: [1], label: undefined }), "it is no edit", false],
    [edit({ messages: [1], content: 5 }), "it has no content", false],
    [5, "it is no edit", false],
    [null, "it is no edit", false],
    [[], "it is no edit", false],
    [edit({ messages: [1], closes: [5, { a: 1 }] }), 'nothing is closed: "5" was not shown', true],
    [edit({ messages: [1], expiresAt: "2030-01-01", scope: "session" }), "left out: expiresAt, scope", true],
    [edit({ messages: [1], since: "last May" }), "its beginning is unknown: its validFrom is no date", true],
    [edit({ messages: [1], until: "soon" }), "its validTo is no date", false],
    [edit({ messages: [1], subject: 5 }), "left out: subject, which is no word of at most 60 characters", true],
    [edit({ messages: [1], tags: [""] }), "left out: tags, which are no list of texts", true],
  ];
  for (const [item, reason, isMade] of cases) {
    const { skipped, entries, errors } = await answered(JSON.stringify([item]));
    expect([item, skipped[0], entries.length, errors]).toEqual([item, reason, isMade ? 2 : 1, []]);
  }
  // A text has no times and no subject.
  const note = { action: "add", label: "notes", content: "Moved.", messages: [1], since: "2021", subject: "home" };
  expect(await answered(JSON.stringify([note]))).toMatchObject({
    notes: "Moved.",
    skipped: ["left out: validFrom, subject"],
  });
});

it("fails with a sentence where nothing can be read, and counts what it cost", async () => {
  const usage = { inputTokens: 1, outputTokens: 1, cost: 0.25 };
  for (const answer of [undefined, 5, true, {}, { foo: 1 }, { text: 5 }, { usage }]) {
    const { errors, skipped, cost } = await answered(answer);
    expect([answer, skipped, errors]).toEqual([
      answer,
      [],
      ["extract resolves to a text, to an array of edits, to { text }, to { edits }, or to null for none."],
    ]);
    expect(cost).toBe((answer as { usage?: object } | undefined)?.usage === undefined ? 0 : 0.25);
  }
  for (const answer of ["", { text: "" }, "[", "no json"]) {
    expect((await answered(answer)).errors).toEqual([expect.stringContaining("no JSON array of edits")]);
  }
  for (const answer of [undefined, null, 5, "[]", { edits: "x" }]) {
    const { errors } = await learned(async () => answer as never);
    expect(errors).toEqual(["A learn function resolves to an array of edits, or to { edits, usage }."]);
  }
  for (const answer of [null, "[]", { text: "[]" }, [], { edits: [] }]) {
    expect(await answered(answer)).toMatchObject({ errors: [], skipped: [], entries: [ROME] });
  }
});
