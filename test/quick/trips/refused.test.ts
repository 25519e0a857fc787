import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { copyStore } from "../../../packages/stemma/src/copy.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";

const block = (label: string) => ({ sessionId: "s", kind: "block", label }) as const;
const entries = { sessionId: "s", label: "l" };
const range = { fromMessageId: "m", toMessageId: "m" };

const WRITES: Record<string, (store: Store, text: string) => Promise<unknown>> = {
  "a session's id": (store, text) => store.sessions.create({ id: text, name: "n" }),
  "a session's name": (store, text) => store.sessions.update("s", { name: text }),
  "a session's end": (store, text) => store.sessions.restore("s", { endReason: text }),
  "a model": (store, text) => store.sessions.addUsage("s", 1, 1, 1, text),
  "a block": (store, text) => store.blocks.set(block("l"), text),
  "a block's label": (store, text) => store.blocks.set(block(text), ""),
  "what is appended": (store, text) => store.blocks.append(block("l"), text, { maxTokens: 100 }),
  "a call": (store, text) => store.blocks.set(block("l"), "", { origin: { author: "model", toolCallId: text } }),
  "an entry": (store, text) => store.entries.set(entries, { key: "k", content: text }),
  "a record's key": (store, text) => store.records.set(entries, text, Uint8Array.of()),
  "a summary's id": (store, text) =>
    store.session("s").importTree({ messages: [], compactions: [{ id: text, summary: "", ...range }] }),
};

describe("a store", () => {
  it.for(Object.entries(WRITES))("refuses NUL and half of a surrogate pair in %s", async ([, write]) => {
    const store = memory();
    await store.session("s").append([textMessage("m")]);
    for (const text of ["a\0b", "\ud800"]) {
      await expect(write(store, text)).rejects.toMatchObject({ code: "INVALID_TEXT" });
    }
    await store.close();
  });

  it("takes half of a surrogate pair for no other text where it reads", async () => {
    const store = memory();
    await store.blocks.set(block("\ufffd"), "tea");
    await store.records.set(entries, "\ufffd", Uint8Array.of(1));
    expect(await store.blocks.get(block("\ud800"))).toBe(null);
    expect(await store.records.get(entries, "\udfff")).toBe(null);
    await expect(store.records.delete(entries, "\udfff")).rejects.toMatchObject({ code: "INVALID_TEXT" });
    expect((await store.records.list(entries)).length).toBe(1);
    await store.close();
  });

  it.for([Number.NaN, Number.POSITIVE_INFINITY, 1e300, 0.5])("refuses to count %s tokens", async (tokens) => {
    const store = memory();
    await store.sessions.create({ id: "s", name: "s" });
    const counted = [store.sessions.addUsage("s", tokens, 0, 0), store.sessions.addUsage("s", 0, tokens, 0)];
    for (const each of counted) await expect(each).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await store.close();
  });

  it("refuses a cost that is no number, and stops where costs are no longer exact", async () => {
    const store = memory();
    await store.sessions.create({ id: "s", name: "s" });
    await expect(store.sessions.addUsage("s", 0, 0, Number.NaN)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    for (let times = 0; times < 2; times += 1) await store.sessions.addUsage("s", 0, 0, Number.MAX_SAFE_INTEGER);
    expect((await store.sessions.get("s"))?.estimated_cost).toBe(Number.MAX_SAFE_INTEGER);
    await store.close();
  });

  it("refuses names that are empty, times in another form and numbers of no version", async () => {
    const store = memory();
    await store.sessions.create({ id: "s", name: "" });
    for (const refused of [
      () => store.entries.set(entries, { key: "", content: "" }),
      () => store.sessions.create({ id: "t", name: "", userId: "" }),
      () => store.blocks.set({ ...block("l"), scope: { key: "" } }, ""),
      () => store.blocks.set(block("l"), "", { updatedAt: "2026-01-01" }),
      () => store.sessions.restore("s", { createdAt: "" }),
      () => store.blocks.set(block("l"), "", { version: 0 }),
      () => store.records.set(entries, "k", Uint8Array.of(), { expiresAt: Number.NaN }),
    ])
      await expect(refused()).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await store.close();
  });
});

it("a copy keeps the milliseconds and the century of a message's date", async () => {
  const [from, to] = [memory(), memory()];
  const dates = ["2026-02-28T12:00:00.001Z", "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"];
  for (const [index, date] of dates.entries())
    await from.session("s").append([{ ...textMessage(String(index)), createdAt: new Date(date) }]);
  expect((await copyStore(from, to)).ok).toBe(true);
  const { messages } = await to.session("s").path();
  expect(messages.map(({ createdAt }) => (createdAt as Date).toISOString())).toEqual(dates);
});

it("a session whose id is reserved by now is told by the check and by a copy, which copies the others", async () => {
  const database = new Database(":memory:");
  const from = sqlite(database);
  for (const id of ["before", "between", "behind"]) await from.session(id).append([textMessage("m")]);
  database.exec("UPDATE assistant_sessions SET id = 'stemma:notes' WHERE id = 'between'");
  database.exec("UPDATE assistant_messages SET session_id = 'stemma:notes' WHERE session_id = 'between'");
  const told = (await from.check?.())?.problems ?? [];
  expect(told.map(({ rule, sessionId }) => [rule, sessionId])).toContainEqual(["session", "stemma:notes"]);
  const to = memory();
  const { ok, parts } = await copyStore(from, to);
  expect([ok, parts.map(({ state, problem }) => [state, problem?.code])]).toEqual([
    false,
    [
      ["copied", undefined],
      ["failed", "INVALID_ARGUMENT"],
      ["copied", undefined],
    ],
  ]);
  await Promise.all([from.close(), to.close()]);
});
