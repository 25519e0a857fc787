import { describe, expect, it } from "vitest";
import { StemmaError } from "../../../packages/model/src/errors.js";
import {
  cleanupSessions,
  createSession,
  createSessionStorage,
  MemorySessionStorage,
  openStore,
  resumeSession,
  type SDKMessage,
  type SessionState,
  StoreSessionStorage,
} from "../../../packages/stemma/src/agent.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";
import { collect, says, scripted } from "../../runner/mock-model.js";

const say = (id: string, content = id): SDKMessage => ({ id, role: "user", content });
const stateOf = (messages: SDKMessage[]): SessionState => ({
  id: "s",
  messages,
  usage: { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 2, total_cost_usd: 0.5 },
  metadata: { user: "u1" },
  createdAt: 1,
  updatedAt: 2,
});

describe("a store as a storage", () => {
  it("gives back what was saved, its times too", async () => {
    const storage = new StoreSessionStorage(memory());
    await storage.save({ ...stateOf([say("a")]), parentId: "p" });
    expect(await storage.load("s")).toEqual({ ...stateOf([say("a")]), parentId: "p" });
    expect(await storage.list()).toEqual(["s"]);
    expect(await storage.load("t")).toBeUndefined();
    await storage.delete("s");
    expect(await storage.list()).toEqual([]);
  });

  it("leaves the times to the store once a session is stored", async () => {
    const storage = new StoreSessionStorage(memory());
    await storage.save(stateOf([say("a")]));
    await storage.save({ ...stateOf([say("a"), say("b")]), createdAt: 5, updatedAt: 6 });
    const state = await storage.load("s");
    expect(state?.createdAt).toBe(1);
    expect(state?.updatedAt).toBeGreaterThan(6);
  });

  it("stores the first of two messages with one id", async () => {
    const storage = new StoreSessionStorage(memory());
    for (let time = 0; time < 2; time += 1) await storage.save(stateOf([say("a"), say("b"), say("a", "again")]));
    expect((await storage.load("s"))?.messages).toEqual([say("a"), say("b")]);
  });

  it("saves a state without times or ids as of now, without the summaries in it", async () => {
    const storage = new StoreSessionStorage(memory());
    const messages: SDKMessage[] = [
      { id: "compaction_1", role: "assistant", content: "Before" },
      { role: "user", content: "Hi" },
    ];
    const { createdAt: _createdAt, updatedAt: _updatedAt, ...state } = stateOf(messages);
    await storage.save(state as SessionState);
    const loaded = await storage.load("s");
    expect(loaded?.messages).toEqual([{ id: expect.any(String), role: "user", content: "Hi" }]);
    expect(Date.now() - (loaded?.createdAt ?? 0)).toBeLessThan(60_000);
  });

  it("says what is wrong with a message, and stores nothing then", async () => {
    const storage = new StoreSessionStorage(memory());
    const wrong = { ...say("b"), role: "" } as unknown as SDKMessage;
    await expect(storage.save(stateOf([say("a"), wrong]))).rejects.toMatchObject({ code: "INVALID_MESSAGE" });
    expect(await storage.list()).toEqual([]);
  });

  it("loses nothing that another process saved first, and completes with the next save what the store refused", async () => {
    const store = memory();
    const own = new StoreSessionStorage(store);
    let failures = 1;
    const failing = new StoreSessionStorage({
      ...store,
      sessions: {
        ...store.sessions,
        restore: async (...given) => {
          failures -= 1;
          if (failures >= 0) {
            await own.save(stateOf([say("a"), say("b")]));
            throw new StemmaError("STORE_FAILED", {}, "The disk is full.");
          }
          return store.sessions.restore(...given);
        },
      },
    });
    await expect(failing.save(stateOf([say("a")]))).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect((await own.load("s"))?.messages).toEqual([say("a"), say("b")]);
    await failing.save(stateOf([say("a"), say("b"), say("c")]));
    expect(await own.load("s")).toMatchObject({
      messages: [say("a"), say("b"), say("c")],
      usage: stateOf([]).usage,
      metadata: { user: "u1" },
    });
  });

  it("writes only what is new", async () => {
    const store = memory();
    const written: string[][] = [];
    const counting = {
      ...store,
      session: (id: string) => {
        const session = store.session(id);
        const append: typeof session.append = (messages, parent) => {
          written.push(messages.map((message) => message.id));
          return session.append(messages, parent);
        };
        return { ...session, append };
      },
    };
    const storage = new StoreSessionStorage(counting);
    await storage.save(stateOf([say("a"), say("b")]));
    await storage.save(stateOf([say("a"), say("b"), say("c")]));
    await storage.save(stateOf([say("a"), say("b"), say("c")]));
    expect(written).toEqual([["c"]]);
    expect((await storage.load("s"))?.usage).toEqual(stateOf([]).usage);
  });

  it("knows messages without ids again by what they say", async () => {
    const store = memory();
    const storage = new StoreSessionStorage(store);
    const nameless: SDKMessage[] = [
      { role: "user", content: "Hi" },
      { role: "assistant", content: "Hello" },
    ];
    await storage.save(stateOf(nameless));
    await storage.save(stateOf([...nameless, { role: "user", content: "Bye" }]));
    expect(await store.session("s").length()).toBe(3);
  });

  it("updates a message that changed, and makes a branch of a conversation that went another way", async () => {
    const store = memory();
    const storage = new StoreSessionStorage(store);
    await storage.save(stateOf([say("a"), say("b"), say("c")]));
    await storage.save(stateOf([say("a"), say("b", "changed"), say("c")]));
    expect((await storage.load("s"))?.messages).toEqual([say("a"), say("b", "changed"), say("c")]);
    await storage.save(stateOf([say("a"), say("x")]));
    expect((await storage.load("s"))?.messages).toEqual([say("a"), say("x")]);
    expect(await store.session("s").tree()).toHaveLength(4);
    await storage.save(stateOf([say("a")]));
    expect((await storage.load("s"))?.messages).toEqual([say("a")]);
    await storage.save(stateOf([]));
    expect(await store.session("s").tree()).toHaveLength(0);
  });

  it("gives the originals of what was compacted", async () => {
    const store = memory();
    const storage = new StoreSessionStorage(store);
    await storage.save(stateOf([say("a"), say("b"), say("c")]));
    await store.session("s").addCompaction({ id: "o", summary: "ab", fromMessageId: "a", toMessageId: "b" });
    expect((await storage.load("s"))?.messages.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });
});

describe("a storage as a store", () => {
  it("carries a manager: registry, forks, search", async () => {
    const storage = new MemorySessionStorage();
    const manager = SessionManager.create(await openStore(storage));
    await manager.create("Tea", { id: "tea" });
    await manager.append("tea", { id: "a", role: "user", parts: [{ type: "text", text: "Sencha is green" }] });
    const fork = await manager.fork("tea", "a", "Coffee");
    const again = SessionManager.create(await openStore({ ...bound(storage) }));
    expect((await again.list()).map(({ name }) => name).sort()).toEqual(["Coffee", "Tea"]);
    expect(await again.search("sencha")).toHaveLength(2);
    await again.delete(fork.id);
    expect(await storage.list()).toEqual(["tea"]);
  });

  it("keeps fields that a storage of someone else put into the state", async () => {
    const storage = new MemorySessionStorage();
    await storage.save({ ...stateOf([say("a")]), revision: 7 } as SessionState);
    const session = await resumeSession("s", { sessionStorage: storage });
    await session.send("b");
    expect(await storage.load("s")).toMatchObject({ revision: 7, metadata: { user: "u1" } });
  });

  it("moves a session from one storage to another with branches, summaries and blocks", async () => {
    const from = new MemorySessionStorage();
    const session = await createSession({
      model: scripted(says("One"), says("Two")),
      sessionStorage: from,
      context: [{ label: "memory" }],
    });
    await session.send("Hi");
    await collect(session.receive());
    const [question] = await session.session.getHistory();
    await session.session.setActiveLeaf(question?.id ?? "");
    await collect(session.receive());
    await session.session.appendContextBlock("memory", "Fact");
    const to = new MemorySessionStorage();
    await to.save((await from.load(session.id)) as SessionState);
    const moved = await resumeSession(session.id, { sessionStorage: to, context: [{ label: "memory" }] });
    expect(await moved.session.getTree()).toEqual(await session.session.getTree());
    await moved.session.freezeSystemPrompt();
    expect(moved.session.getContextBlock("memory")?.content).toBe("Fact");
    expect(moved.state.usage).toEqual(session.state.usage);
    // And from there into a store.
    const store = memory();
    const state = (await to.load(session.id)) as SessionState;
    await new StoreSessionStorage(store).save(state);
    const stored = await resumeSession(session.id, { sessionStorage: store, context: [{ label: "memory" }] });
    const shape = (nodes: { id: string; parentId: string | null }[]) => nodes.map(({ id, parentId }) => [id, parentId]);
    expect(shape(await stored.session.getTree())).toEqual(shape(await session.session.getTree()));
    await stored.session.freezeSystemPrompt();
    expect(stored.session.getContextBlock("memory")?.content).toBe("Fact");
    expect(stored.state).toMatchObject({ usage: session.state.usage, metadata: {}, messages: state.messages });
    await expect(
      new StoreSessionStorage(store).save({ ...state, id: "x", metadata: { stemma: { tree: 5 } } }),
    ).rejects.toMatchObject({ code: "CORRUPT_STATE" });
    expect(await store.sessions.get("x")).toBeNull();
  });

  it("shows a resumed session what another process saved meanwhile", async () => {
    const storage = new MemorySessionStorage();
    const session = await createSession({ id: "s", sessionStorage: storage });
    await session.send("mine");
    const other = await resumeSession("s", { sessionStorage: bound(storage) });
    await other.send("theirs");
    await session.close();
    const resumed = await resumeSession("s", { sessionStorage: storage });
    expect(resumed.getMessages().map(({ content }) => content)).toEqual(["mine", "theirs"]);
  });

  it("takes a write back whose save failed", async () => {
    const storage = new MemorySessionStorage();
    let full = false;
    const failing = bound(storage);
    failing.save = async (state) => {
      if (full) throw new RangeError("disk full");
      await storage.save(state);
    };
    const session = await createSession({ sessionStorage: failing });
    await session.send("one");
    full = true;
    await expect(session.send("two")).rejects.toThrow("disk full");
    full = false;
    await session.send("three");
    expect(session.getMessages().map(({ content }) => content)).toEqual(["one", "three"]);
    expect((await storage.load(session.id))?.messages).toHaveLength(2);
  });
});

describe("createSessionStorage and cleanupSessions", () => {
  it("refuses a kind that is not there", () => {
    const make = () => createSessionStorage("floppy" as "memory");
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  });

  it("deletes what is older, by age or by date, on storages and stores alike", async () => {
    const storage = new MemorySessionStorage();
    await storage.save({ ...stateOf([]), id: "old", updatedAt: Date.now() - 10_000 });
    await storage.save({ ...stateOf([]), id: "new", updatedAt: Date.now() });
    expect(await cleanupSessions(storage, { olderThan: 5000 })).toEqual(["old"]);
    expect(await storage.list()).toEqual(["new"]);
    const store = memory();
    await createSession({ id: "a", sessionStorage: store });
    expect(await cleanupSessions(store, { olderThan: 60_000 })).toEqual([]);
    expect(await cleanupSessions(store, { olderThan: new Date(Date.now() + 1000) })).toEqual(["a"]);
    expect(await cleanupSessions(new StoreSessionStorage(store), { olderThan: 0 })).toEqual([]);
    const wrong = cleanupSessions(store, { olderThan: Number.NaN });
    await expect(wrong).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  it("deletes the others where one session cannot be read, and says so", async () => {
    const storage = new MemorySessionStorage();
    for (const id of ["a", "b", "c"]) await storage.save({ ...stateOf([]), id, updatedAt: 1 });
    const load = async (id: string) => {
      if (id === "b") throw new RangeError("unreadable");
      return storage.load(id);
    };
    const cleanup = cleanupSessions({ ...bound(storage), load }, { olderThan: 5000 });
    await expect(cleanup).rejects.toThrow("unreadable");
    expect(await storage.list()).toEqual(["b"]);
  });

  it("keeps a session that someone went on with meanwhile", async () => {
    const store = memory();
    for (const id of ["a", "b"]) await createSession({ id, sessionStorage: store });
    const get = async (id: string) => {
      const info = await store.sessions.get(id);
      return id === "a" && info ? { ...info, updated_at: new Date(Date.now() + 60_000).toISOString() } : info;
    };
    const busy = { ...store, sessions: { ...store.sessions, get } };
    expect(await cleanupSessions(busy, { olderThan: new Date(Date.now() + 1000) })).toEqual(["b"]);
  });
});

/** The same storage as another object, as another process has it. */
function bound(storage: MemorySessionStorage) {
  return {
    save: storage.save.bind(storage),
    load: storage.load.bind(storage),
    delete: storage.delete.bind(storage),
    list: storage.list.bind(storage),
  };
}
