import { Session, SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { describe, expect, it } from "vitest";
import { ApiKeys, guard } from "../../src/index.js";

const say = (id: string, text = id) => ({ id, role: "user", parts: [{ type: "text", text }] });
const ada = (store: Store) => guard(store, { id: "key", access: "memory", userId: "ada" });
const garden = (store: Store) => guard(store, { id: "key", access: "memory", project: "garden" });
const refused = expect.objectContaining({ code: "FORBIDDEN" });
const notThere = expect.objectContaining({ code: "SESSION_NOT_FOUND" });

describe("what forUser() lets through, and guard() does not", () => {
  it("is a session of nobody, which a write would take over", async () => {
    const store = memory();
    await store.session("nobodys").append([say("m1")]);
    await store.forUser("bob").session("nobodys-too").path();
    await expect(ada(store).session("nobodys").path()).rejects.toEqual(notThere);
    await expect(
      ada(store)
        .session("nobodys")
        .append([say("m2")]),
    ).rejects.toEqual(notThere);
    await expect(ada(store).sessions.create({ id: "nobodys", name: "Mine" })).rejects.toEqual(notThere);
    await expect(ada(store).writeTogether([{ session: "nobodys", append: [say("m2")] }])).rejects.toEqual(notThere);
    expect((await store.sessions.get("nobodys"))?.user_id).toBeNull();
  });

  it("are records, blocks and entries of no session, and those of a key", async () => {
    const store = memory();
    const guarded = ada(store);
    const shared = { sessionId: "", label: "shared" };
    const team = { sessionId: "", kind: "block", label: "notes", scope: { key: "team" } } as const;
    await expect(guarded.records.set(shared, "a", new Uint8Array([1]))).rejects.toEqual(refused);
    await expect(guarded.blocks.get({ ...shared, kind: "block" })).rejects.toEqual(refused);
    await expect(guarded.entries.list(shared)).rejects.toEqual(refused);
    await expect(guarded.blocks.set(team, "Ours.")).rejects.toEqual(refused);
    await expect(guarded.deleteMemory({ sessionId: "", scope: { key: "team" } })).rejects.toEqual(refused);
  });

  it("is the upkeep of the whole database, and its end", async () => {
    const guarded = ada(memory());
    await expect(guarded.scrub?.()).rejects.toEqual(refused);
    await expect(guarded.close()).rejects.toEqual(refused);
  });

  it("is what an older program stored under a label that it chose", async () => {
    const store = memory();
    const key = { sessionId: "agents_before_upgrade", kind: "block", label: "secrets" } as const;
    await store.blocks.set(key, "canary");
    const asked = { sessionId: "mine", kind: "block", label: "notes", upgradedLabel: "secrets" } as const;
    expect((await store.blocks.get(asked))?.content).toBe("canary");
    expect(await ada(store).blocks.get(asked)).toBeNull();
    expect(await ada(store).blocks.getMany?.([asked])).toEqual([null]);
  });

  it("is a note that says it was written in another's session", async () => {
    const store = memory();
    await store
      .forUser("bob")
      .session("bobs")
      .append([say("m1")]);
    const notes = { sessionId: "", kind: "block", label: "notes", scope: "user" } as const;
    const origin = { author: "model", sessionId: "bobs", messageIds: ["m1"] } as const;
    await expect(ada(store).blocks.set(notes, "Forged.", { origin })).rejects.toEqual(notThere);
    const write = { block: notes, content: "Forged.", options: { origin } };
    await expect(ada(store).writeTogether([write])).rejects.toEqual(notThere);
    expect(await store.session("bobs").writes("m1")).toEqual([]);
  });
});

it("merges entries of the principal's own, and nobody else's", async () => {
  const store = memory();
  const team = { sessionId: "", label: "facts", scope: { key: "team" } } as const;
  const own = { sessionId: "", label: "facts", scope: "user" } as const;
  for (const key of ["a", "b"]) {
    await store.entries.set(team, { key, content: "Meets on Monday." });
    await store.forUser("ada").entries.set(own, { key, content: "Lives in Lima." });
  }
  const guarded = ada(store);
  await expect(guarded.consolidate({ scope: { key: "team" } })).rejects.toEqual(refused);
  const reader = guard(store, { id: "key", access: "memory", userId: "ada", readOnly: true });
  await expect(reader.consolidate()).rejects.toEqual(refused);
  expect((await guarded.consolidate()).merges).toHaveLength(1);
  expect(await store.entries.count(team)).toBe(2);
});

describe("a key of one project", () => {
  it("is not led elsewhere by arguments behind those of the contract", async () => {
    const store = memory();
    await store.sessions.create({ id: "other", name: "Other", metadata: { project: "kitchen" } });
    await store.session("other").append([say("m1", "canary")]);
    const search = garden(store).search as (...values: unknown[]) => Promise<unknown>;
    await expect(search("canary", { limit: 5, sessionId: "other" }, {})).rejects.toEqual(notThere);
    expect(await search("canary", { limit: 5 }, { sessionMetadata: {} })).toEqual([]);
    await expect(search("canary", { limit: 5, sessionMetadata: { project: "kitchen" } })).rejects.toEqual(refused);
  });

  it("makes sessions of the project only, and moves none out of it", async () => {
    const store = memory();
    const guarded = garden(store);
    await guarded.session("by-append").append([say("m1")]);
    await guarded.sessions.create({ id: "by-create", name: "Named" });
    await guarded.sessions.fork("by-append", "m1", { id: "by-fork", name: "Fork" });
    const tree = { messages: [{ message: say("m1"), parentId: null }], session: { name: "Imported" } };
    await guarded.session("by-import").importTree(tree as never);
    const { sessions } = await store.sessions.list({ metadata: { project: "garden" } });
    expect(sessions.map(({ id, name }) => [id, name]).sort()).toEqual([
      ["by-append", "by-append"],
      ["by-create", "Named"],
      ["by-fork", "Fork"],
      ["by-import", expect.any(String)],
    ]);
    const change = { metadata: { project: "kitchen" } };
    await expect(guarded.sessions.update("by-create", change)).rejects.toEqual(refused);
    await expect(guarded.sessions.update("by-create", { metadata: { project: null } })).rejects.toEqual(refused);
    await expect(guarded.writeTogether([{ registered: "by-create", change }])).rejects.toEqual(refused);
    await expect(guarded.sessions.create({ id: "new", name: "New", ...change })).rejects.toEqual(refused);
    await expect(guarded.sessions.fork("by-append", "m1", { id: "f", name: "F", ...change })).rejects.toEqual(refused);
  });
});

describe("arguments that are none of the contract", () => {
  const wrong: readonly [string, (store: Store) => Promise<unknown>][] = [
    ["no key", ({ blocks }) => blocks.get(null as never)],
    ["a session's id that is a list", ({ sessions }) => sessions.get(["a"] as never)],
    ["a label that is an object", ({ records }) => records.list({ sessionId: "a", label: {} as never })],
    ["a scope of another name", ({ entries }) => entries.list({ sessionId: "a", label: "b", scope: "all" as never })],
    [
      "a key that is a list",
      ({ entries }) => entries.list({ sessionId: "", label: "b", scope: { key: ["team"] } as never }),
    ],
    ["no writes", ({ writeTogether }) => writeTogether(null as never)],
    ["writes that are none", ({ writeTogether }) => writeTogether([null] as never)],
    [
      "the place of another's memory",
      ({ blocks }) => blocks.get({ sessionId: "stemma:user:bob", kind: "block", label: "a" }),
    ],
  ];
  it.each(wrong)("are refused: %s", async (_name, call) => {
    for (const guarded of [ada(memory()), garden(memory())]) {
      await expect(call(guarded)).rejects.toEqual(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
  });
});

describe("calls through a guard", () => {
  it.each([
    ["user", ada],
    ["project", garden],
  ])("of one session keep their order, awaited or not, for a %s", async (_name, guarded) => {
    const store = guarded(memory());
    const session = store.session("chat");
    const made: Promise<unknown>[] = [];
    for (let turn = 0; turn < 20; turn += 1) {
      const given = say(`m${turn}`);
      made.push(session.append([given]));
      // What is changed behind the call is not what was written.
      given.parts = [];
      if (turn === 10) await Promise.resolve();
    }
    const path = session.path();
    await Promise.all(made);
    const { messages } = await path;
    expect(messages.map(({ id }) => id)).toEqual(Array.from({ length: 20 }, (_, turn) => `m${turn}`));
    expect(messages.every(({ parts }) => parts.length === 1)).toBe(true);
  });

  it("serve a Session and a SessionManager of a user", async () => {
    const store = memory();
    const guarded = ada(store);
    const session = Session.create(guarded).forSession("chat").withContext("memory", { scope: "user" });
    await session.appendMessage(say("m1", "I live in Lima."));
    await session.appendContextBlock("memory", "Lives in Lima.");
    const { system, messages } = await session.prepareTurn();
    expect(system).toContain("Lives in Lima.");
    expect(messages).toHaveLength(1);
    expect((await SessionManager.create(guarded).list()).map(({ id }) => id)).toEqual(["chat"]);
    expect((await store.sessions.get("chat"))?.user_id).toBe("ada");
  });
});

describe("what an attacker tried", () => {
  const bytes = (text: string) => new TextEncoder().encode(text);
  const both = expect.objectContaining({ code: expect.stringMatching(/FORBIDDEN|SESSION_NOT_FOUND|INVALID_ARGUMENT/) });
  const mine = { sessionId: "mine", kind: "block", label: "notes" } as const;

  it("a write that could be taken for two is looked at as both", async () => {
    const store = memory();
    const record = { records: { sessionId: "", label: "stemma:keys" }, key: "k", value: bytes("{}") };
    for (const write of [
      { block: mine, content: "x", ...record },
      { entries: { sessionId: "mine", label: "facts" }, content: "x", ...record },
      { session: "mine", append: [say("m1")], ...record },
    ]) {
      await expect(ada(store).writeTogether([write as never])).rejects.toEqual(both);
      await expect(garden(store).writeTogether([write as never])).rejects.toEqual(both);
    }
    expect(await store.records.list({ sessionId: "", label: "stemma:keys" })).toEqual([]);
  });

  it("the keys of the server do not go with the session without an id", async () => {
    const store = memory();
    const keys = new ApiKeys(store);
    const { key } = await keys.create({ name: "a", access: "admin" });
    const own = { sessionId: "", label: "own" };
    await store.records.set(own, "k", new Uint8Array(1));
    for (const access of ["memory", "admin"] as const) await guard(store, { id: "k", access }).sessions.delete("");
    await store.sessions.delete("");
    expect(await store.records.list(own)).toEqual([]);
    expect(await new ApiKeys(store).verify(key)).not.toBeNull();
  });

  it("a version that is brought along says no more than one that is written", async () => {
    const store = memory();
    await store
      .forUser("bob")
      .session("bobs")
      .append([say("m1")]);
    const version = { version: 1, content: "Forged.", writtenAt: new Date().toISOString(), author: "model" } as const;
    const forged = [{ ...version, sessionId: "bobs", messageIds: ["m1"], toolCallId: null }];
    const notes = { sessionId: "", kind: "block", label: "notes", scope: "user" } as const;
    await expect(ada(store).blocks.importVersions(notes, forged)).rejects.toEqual(notThere);
    const facts = { sessionId: "", label: "facts", scope: "user" } as const;
    await expect(ada(store).entries.importVersions(facts, "k", forged)).rejects.toEqual(notThere);
  });

  it("a sum over all is no sum over a session because the arguments name one somewhere", async () => {
    const guarded = garden(memory());
    await guarded.sessions.create({ id: "mine", name: "Mine" });
    const asked = { sessionIds: ["mine"] } as never;
    await expect(guarded.sessions.usage({ by: "session", ...(asked as object) })).rejects.toEqual(refused);
    await expect(guarded.sessions.due(asked)).rejects.toEqual(refused);
    await expect(guarded.sessions.compactionSums({ by: "session", ...(asked as object) })).rejects.toEqual(refused);
  });

  it("several keys are looked at as the first is", async () => {
    const store = memory();
    await store.forUser("ada").blocks.set({ sessionId: "", kind: "block", label: "private", scope: "user" }, "canary");
    const guarded = guard(store, { id: "key", access: "memory", userId: "ada", project: "garden" });
    await guarded.sessions.create({ id: "mine", name: "Mine" });
    const asked = [
      { sessionId: "mine", kind: "block", label: "project:garden", scope: "user" },
      { sessionId: "mine", kind: "block", label: "private" },
    ] as const;
    await expect(guarded.blocks.getMany?.(asked)).rejects.toEqual(refused);
  });

  it("keys of memory alone are no way to another key, by whatever name", async () => {
    const store = memory();
    await store.blocks.set({ sessionId: "", kind: "block", label: "n", scope: { key: "board" } }, "canary");
    const guarded = guard(store, { id: "key", access: "memory", keys: ["team"] });
    await expect(guarded.blocks.get({ sessionId: "stemma:key:board", kind: "block", label: "n" })).rejects.toEqual(
      both,
    );
    expect(await guarded.blocks.owners("key")).toEqual([]);
  });

  it("an older program's block is not read by any form of its label", async () => {
    const store = memory();
    const old = (label: string) => ({ sessionId: "agents_before_upgrade", kind: "block", label }) as const;
    await store.blocks.set(old("secrets"), "canary");
    await store.blocks.set(old("team_mine"), "canary");
    const tricks = [
      { ...mine, upgradedLabel: "secrets", block: 0 },
      { sessionId: "mine", kind: "block", label: "team" },
    ] as const;
    for (const key of tricks) {
      const read = ada(store).blocks.get(key as never);
      expect(await read.catch(({ code }) => code)).not.toMatchObject({ content: "canary" });
    }
  });

  it("records and memory under an id that is not registered are not there", async () => {
    const store = memory();
    await store.records.set({ sessionId: "thread", label: "runs" }, "r", bytes("canary"));
    await store.blocks.set({ sessionId: "notes", kind: "block", label: "a" }, "canary");
    for (const guarded of [ada(store), garden(store)]) {
      await expect(guarded.records.get({ sessionId: "thread", label: "runs" }, "r")).rejects.toEqual(notThere);
      await expect(guarded.session("thread").append([say("m1")])).rejects.toEqual(notThere);
      await expect(guarded.blocks.get({ sessionId: "notes", kind: "block", label: "a" })).rejects.toEqual(notThere);
    }
  });

  it("a session that was deleted and made anew by others is not theirs any more", async () => {
    const store = memory();
    const guarded = garden(store);
    await guarded.sessions.create({ id: "s", name: "S" });
    await guarded.session("s").append([say("m1")]);
    await guarded.sessions.delete("s");
    await store.session("s").append([say("m1", "canary")]);
    await expect(guarded.session("s").path()).rejects.toEqual(notThere);
  });

  it("arguments are read once", async () => {
    const store = memory();
    let reads = 0;
    const flipping = Object.defineProperty({ label: "runs" }, "sessionId", {
      enumerable: true,
      get: () => (reads++ === 0 ? "mine" : ""),
    });
    await store.records.set({ sessionId: "", label: "runs" }, "r", bytes("canary"));
    expect(await ada(store).records.list(flipping as never)).toEqual([]);
    const inherited = Object.assign(Object.create({ block: mine }), {
      records: { sessionId: "", label: "a" },
      key: "k",
    });
    await expect(ada(store).writeTogether([{ ...inherited, value: bytes("x") }])).rejects.toEqual(refused);
    const key: { sessionId: string; kind: "block"; label: string } = { ...mine };
    await store.session("other").append([say("m1")]);
    const guarded = ada(store);
    const written = guarded.blocks.set(key, "Mine.");
    key.sessionId = "other";
    await written;
    expect(await store.blocks.get({ ...mine, sessionId: "other" })).toBeNull();
  });

  it("a principal that is none reaches nothing", () => {
    const wrong = ["ada", {}, { id: "x" }, { id: "x", access: "MEMORY" }, { id: "x", access: "memory", userID: "ada" }];
    const lost = [
      { id: "x", access: "memory", userId: undefined },
      { id: "x", access: "memory", project: "" },
    ];
    for (const principal of [...wrong, ...lost]) {
      expect(() => guard(memory(), principal as never)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    }
  });

  it("what came of a message shows no label of the user's that the key does not reach", async () => {
    const store = memory();
    const guarded = guard(store, { id: "key", access: "memory", userId: "ada", project: "garden" });
    await guarded.sessions.create({ id: "mine", name: "Mine" });
    await guarded.session("mine").append([say("m1")]);
    const origin = { author: "model", sessionId: "mine", messageIds: ["m1"] } as const;
    const secret = { sessionId: "mine", kind: "block", label: "private", scope: "user" } as const;
    await store.forUser("ada").blocks.set(secret, "canary", { origin });
    expect(await guarded.session("mine").writes("m1")).toEqual([]);
  });
});
