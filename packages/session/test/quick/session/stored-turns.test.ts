// What a turn stores: all of it or nothing, and once, whoever else prepares it.
import { afterEach, describe, expect, it, vi } from "vitest";
import { Session } from "../../../../stemma/src/session.js";
import type { Store } from "../../../../store/src/contract/store.js";
import { memory } from "../../../../store/src/memory.js";

const DAY = 24 * 60 * 60 * 1000;
const asks = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: `Question ${id}` }] });
const says = (id: string) => ({ id, role: "assistant", parts: [{ type: "text", text: `Answer ${id}` }] });
const sessionOn = (store: Store) => Session.create(store).forSession("s").withContext("notes").withCachedPrompt();
const notesIn = async (store: Store) =>
  (await store.records.list({ sessionId: "s", label: "turns" }, { prefix: "note/" })).map(({ key }) => key);
const textOf = ({ messages }: { messages: unknown }) => JSON.stringify(messages);

/** A store whose writes that are made together fail while `fails` says so. */
function failing(store: Store, fails: () => boolean): Store {
  const writeTogether: Store["writeTogether"] = async (writes) => {
    if (fails()) throw new Error("The disk is full.");
    return store.writeTogether(writes);
  };
  return { ...store, writeTogether };
}

afterEach(() => vi.useRealTimers());

/** A chat of two turns, with a block that somebody changed since the prompt was frozen. */
async function withChange(store: Store): Promise<void> {
  const session = sessionOn(store);
  await session.appendMessage(asks("u1"));
  await session.replaceContextBlock("notes", "Likes long stories. ".repeat(40));
  await session.prepareTurn();
  await session.appendAll([says("a1"), asks("u2")]);
  await sessionOn(store).replaceContextBlock("notes", `${"Likes long stories. ".repeat(40)}\nHas a dog.`);
}

describe("a turn", () => {
  it("that cannot be stored leaves no prompt, no note and no state", async () => {
    const whole = memory();
    let fails = true;
    const session = sessionOn(failing(whole, () => fails));
    await session.appendMessage(asks("u1"));
    await expect(session.prepareTurn()).rejects.toThrow("The disk is full.");
    expect(await whole.blocks.get({ sessionId: "s", kind: "prompt", label: "" })).toBeNull();
    expect(await whole.records.list({ sessionId: "s", label: "turns" })).toEqual([]);
    fails = false;
    expect(await session.prepareTurn()).toMatchObject({ refreshed: "first" });
    expect(await whole.blocks.get({ sessionId: "s", kind: "prompt", label: "" })).toMatchObject({ version: 1 });
  });

  it("is not prepared while a block of its first prompt cannot be read", async () => {
    const store = memory();
    let isThere = false;
    const get = async () => {
      if (!isThere) throw new Error("gone");
      return "Be brief.";
    };
    const session = sessionOn(store).withContext("rules", { provider: { get } });
    await session.appendMessage(asks("u1"));
    await expect(session.prepareTurn()).rejects.toMatchObject({ code: "PROVIDER_FAILED" });
    expect(await store.records.list({ sessionId: "s", label: "turns" })).toEqual([]);
    isThere = true;
    expect((await session.prepareTurn()).system).toContain("Be brief.");
  });

  it("that two prepare at once tells both the same, once", async () => {
    const store = memory();
    await withChange(store);
    const two = await Promise.all([sessionOn(store).prepareTurn(), sessionOn(store).prepareTurn()]);
    expect(textOf(two[0])).toContain("Has a dog.");
    expect(textOf(two[1])).toBe(textOf(two[0]));
    expect(two[1].prefixHash).toBe(two[0].prefixHash);
    expect(await notesIn(store)).toHaveLength(1);
  });

  it("takes the note of whoever was faster, though the blocks say more by then", async () => {
    const store = memory();
    await withChange(store);
    const before = await store.records.get({ sessionId: "s", label: "turns" }, "last");
    const first = await sessionOn(store).prepareTurn();
    // What a process read that stood still before it wrote.
    let reads = 0;
    const get: Store["records"]["get"] = (...key) =>
      reads++ === 0 ? Promise.resolve(before) : store.records.get(...key);
    const late = sessionOn({ ...store, records: { ...store.records, list: async () => [], get } });
    await sessionOn(store).appendContextBlock("notes", "And a cat.");
    const second = await late.prepareTurn();
    expect(textOf(second)).toBe(textOf(first));
    expect(await notesIn(store)).toHaveLength(1);
  });

  it("removes notes beside an earlier prompt a day later, and leaves those beside its own", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const store = memory();
    await withChange(store);
    const session = sessionOn(store);
    expect(textOf(await session.prepareTurn())).toContain("Has a dog.");
    const [old] = await notesIn(store);
    await session.refreshSystemPrompt();
    await session.appendAll([says("a2"), asks("u3")]);
    await session.prepareTurn();
    expect(await notesIn(store)).toEqual([old]);
    vi.setSystemTime(Date.now() + DAY - 1000);
    await session.appendAll([says("a3"), asks("u4")]);
    await session.prepareTurn();
    expect(await notesIn(store)).toEqual([old]);
    vi.setSystemTime(Date.now() + 2000);
    await session.appendAll([says("a4"), asks("u5")]);
    await session.prepareTurn();
    expect(await notesIn(store)).toEqual([]);
    await sessionOn(store).appendContextBlock("notes", "And a cat.");
    await session.appendAll([says("a5"), asks("u6")]);
    await session.prepareTurn({ cacheTtl: 10 * DAY });
    expect(await notesIn(store)).toHaveLength(1);
    vi.setSystemTime(Date.now() + 2 * DAY);
    await session.appendAll([says("a6"), asks("u7")]);
    expect(textOf(await session.prepareTurn({ cacheTtl: 10 * DAY }))).toContain("And a cat.");
    expect(await notesIn(store)).toHaveLength(1);
  });
});
