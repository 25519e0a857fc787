// One topic of the suite: its cases, one after the other.
import {
  AgentContextProvider,
  AgentSearchProvider,
  AgentSessionProvider,
  Session,
  SessionManager,
} from "@stemma/session";
import { promptKey } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { chain, forkedTree, historyIds, historyTexts, idsOf, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";

const FIELDS = [
  ["created_at", "end_reason", "estimated_cost", "id", "input_tokens", "metadata", "model"],
  ["name", "output_tokens", "parent_session_id", "source", "updated_at", "user_id"],
].flat();

/** The registry, and what it takes to make, name and use sessions. Forks have a topic of their own. */
export const sessions = defineTopic("sessions", (it) => {
  it("creates a session with a name, a random id and what is known of it", async ({ manager }) => {
    const info = await manager.create("My Chat", { parentSessionId: "parent", model: "a-model", source: "web" });
    expect(Object.keys(info).sort()).toEqual(FIELDS);
    const { id, created_at, updated_at, ...rest } = info;
    expect(rest).toEqual({
      name: "My Chat",
      parent_session_id: "parent",
      model: "a-model",
      source: "web",
      input_tokens: 0,
      output_tokens: 0,
      estimated_cost: 0,
      end_reason: null,
      user_id: null,
      metadata: {},
    });
    expect(id.length > 10).toBe(true);
    for (const time of [created_at, updated_at]) expect(time).toBe(new Date(time).toISOString());
    expect(await manager.get(id)).toEqual(info);
    const plain = await manager.create("Plain");
    expect([plain.parent_session_id, plain.model, plain.source]).toEqual([null, null, null]);
  });

  it("takes an id of yours, and leaves a registered one as it is", async ({ manager }) => {
    const first = await manager.create("First", { id: "chat" });
    expect(first.id).toBe("chat");
    expect(await manager.create("Second", { id: "chat", model: "m" })).toEqual(first);
    expect((await manager.list()).length).toBe(1);
  });

  it("gives null for an unknown session", async ({ manager }) => {
    expect(await manager.get("unknown")).toBe(null);
  });

  it("registers an id that is written to, named as its id", async ({ manager, sessionOf }) => {
    await manager.append("by append", message("a"));
    await manager.appendAll("by appendAll", [message("a")]);
    await manager.upsert("by upsert", message("a"));
    await manager.getSession("by session").appendMessage(message("a"));
    await sessionOf("without manager").appendMessage(message("a"));
    const names = (await manager.list()).map(({ id, name }) => [id, name]).sort();
    expect(names).toEqual(
      ["by append", "by appendAll", "by session", "by upsert", "without manager"].map((id) => [id, id]),
    );
  });

  it("registers no id that is only read, or of which there is nothing to remove", async ({ manager, sessionOf }) => {
    const session = sessionOf("unknown");
    await session.getHistory();
    await session.deleteMessages(["a"]);
    await session.clearMessages();
    await expectError(session.setActiveLeaf("a"), "MESSAGE_NOT_FOUND");
    expect(await manager.list()).toEqual([]);
  });

  it("lists sessions by their latest change, newest first, writes through getSession included", async ({
    manager,
    sessionOf,
    store,
  }) => {
    for (const id of ["a", "b", "c"]) {
      await manager.create(id, { id });
      await later();
    }
    expect(idsOf(await manager.list())).toEqual(["c", "b", "a"]);
    const withBlock = (id: string) => sessionOf(id).withContext("memory");
    const notes = new AgentSearchProvider(store, "notes");
    const steps: [string, () => Promise<unknown>][] = [
      ["a", () => manager.append("a", message("m"))],
      ["b", () => manager.getSession("b").appendAll([message("m"), message("n")])],
      ["c", () => manager.rename("c", "renamed")],
      ["b", () => manager.getSession("b").updateMessage(message("m", "new"))],
      ["a", () => manager.getSession("a").addCompaction("summary", "m", "m")],
      ["b", () => manager.deleteMessages("b", ["n"])],
      ["c", () => manager.addUsage("c", 1, 2, 0.5)],
      ["b", () => manager.getSession("b").setActiveLeaf("m")],
      ["a", () => manager.clearMessages("a")],
      ["c", () => withBlock("c").replaceContextBlock("memory", "one")],
      ["b", () => withBlock("b").appendContextBlock("memory", "two")],
      ["a", () => notes.forSession("a").set("tea", "three")],
      ["b", () => withBlock("b").appendContextBlock("memory", "four")],
    ];
    for (const [id, change] of steps) {
      const before = await manager.get(id);
      await later();
      await change();
      const after = await manager.get(id);
      expect((after?.updated_at ?? "") > (before?.updated_at ?? "")).toBe(true);
      expect((await manager.list())[0]?.id).toBe(id);
    }
  });

  it("changes neither place nor time of a session that is only read", async ({ manager }) => {
    await manager.append("a", message("m"));
    await later();
    await manager.append("b", message("m"));
    const before = await manager.list();
    await manager.getHistory("a");
    await manager.getSession("a").getRecentHistory(1000);
    await manager.append("a", message("m"));
    expect(await manager.list()).toEqual(before);
  });

  it("lists all at once, or page by page, each session once", async ({ manager }) => {
    const ids = numbered("s", 120);
    for (const id of ids) await manager.create(id, { id });
    const all = idsOf(await manager.list());
    expect(all.slice().sort()).toEqual(ids);
    const seen: string[] = [];
    let cursor: string | null = null;
    let pages = 0;
    do {
      const page: Awaited<ReturnType<SessionManager["listPage"]>> = await manager.listPage({ limit: 50, cursor });
      seen.push(...idsOf(page.sessions));
      cursor = page.nextCursor;
      pages += 1;
    } while (cursor !== null);
    expect(seen).toEqual(all);
    expect(pages).toBe(3);
    expect((await manager.listPage({ limit: 120 })).nextCursor).toBe(null);
    await expectError(manager.listPage({ limit: 0 }), "INVALID_ARGUMENT");
    await expectError(manager.listPage({ cursor: "made up" }), "INVALID_ARGUMENT");
  });

  it("renames a session, and refuses an unknown one", async ({ manager }) => {
    await manager.create("old", { id: "a" });
    await manager.rename("a", "new 漢字 🎉");
    expect((await manager.get("a"))?.name).toBe("new 漢字 🎉");
    await expectError(manager.rename("unknown", "name"), "SESSION_NOT_FOUND");
    expect(await manager.get("unknown")).toBe(null);
  });

  it("adds up usage, and refuses an unknown session", async ({ manager }) => {
    await manager.create("a", { id: "a" });
    await manager.addUsage("a", 100, 20, 0.25);
    await manager.addUsage("a", 1, 2, 0.5);
    await manager.addUsage("a", 5, 5);
    const info = await manager.get("a");
    expect([info?.input_tokens, info?.output_tokens, info?.estimated_cost]).toEqual([106, 27, 0.75]);
    await expectError(manager.addUsage("unknown", 1, 1, 1), "SESSION_NOT_FOUND");
    await expectError(manager.addUsage("a", Number.NaN, 1, 1), "INVALID_ARGUMENT");
  });

  it("stops counting usage at the largest number that is exact", async ({ manager }) => {
    const most = Number.MAX_SAFE_INTEGER;
    await manager.create("a", { id: "a" });
    const counted = async (input: number, output: number) => {
      await manager.addUsage("a", input, output);
      const info = await manager.get("a");
      return [info?.input_tokens, info?.output_tokens];
    };
    expect(await counted(most, 1)).toEqual([most, 1]);
    expect(await counted(most, most - 1)).toEqual([most, most]);
    expect(await counted(1, most)).toEqual([most, most]);
    expect(await counted(-2, -most)).toEqual([most - 2, 0]);
    expect(await counted(-most, -most)).toEqual([-2, -most]);
    expect(await counted(-most, -1)).toEqual([-most, -most]);
  });

  it("resolves append and upsert to the message's id, appendAll to the last id or null", async ({ manager }) => {
    expect(await manager.append("a", message("m"))).toBe("m");
    expect(await manager.append("a", message("m"))).toBe("m");
    expect(await manager.upsert("a", message("n"))).toBe("n");
    expect(await manager.upsert("a", message("n", "new"))).toBe("n");
    expect(await manager.appendAll("a", [message("o"), message("p")], "m")).toBe("p");
    expect(await manager.appendAll("a", [])).toBe(null);
    expect(idsOf(await manager.getHistory("a"))).toEqual(["m", "o", "p"]);
    expect(idsOf(await manager.getHistory("a", "n"))).toEqual(["m", "n"]);
    expect(await manager.getMessageCount("a")).toBe(3);
    await manager.deleteMessages("a", ["p"]);
    expect(await manager.getMessageCount("a")).toBe(2);
    const compaction = await manager.addCompaction("a", "summary", "m", "o");
    expect(await manager.getCompactions("a")).toEqual([compaction]);
    await manager.clearMessages("a");
    expect(await manager.getHistory("a")).toEqual([]);
  });

  it("passes over summaries in what a host saves back with appendAll", async ({ manager }) => {
    await manager.appendAll("a", [message("m"), message("n")]);
    const { id } = await manager.addCompaction("a", "summary", "m", "n");
    const saved = await manager.getHistory("a");
    expect(idsOf(saved)).toEqual([`compaction_${id}`]);
    expect(await manager.appendAll("a", saved)).toBe(null);
    expect(await manager.appendAll("a", [...saved, message("o")])).toBe("o");
    expect(idsOf(await manager.getHistory("a"))).toEqual([`compaction_${id}`, "o"]);
  });

  it("gives the same session object for an id each time, configured as the manager says", async ({ store }) => {
    const manager = SessionManager.create(store)
      .withContext("soul", { provider: { get: async () => "kind" } })
      .withContext("memory", { maxTokens: 100 })
      .withCachedPrompt();
    const session = manager.getSession("a");
    expect(manager.getSession("a") === session).toBe(true);
    expect(session.id).toBe("a");
    await session.replaceContextBlock("memory", "coffee of a");
    expect(await session.freezeSystemPrompt()).toInclude("coffee of a");
    const other = await manager.getSession("b").freezeSystemPrompt();
    expect(other).toInclude("kind");
    expect(other).toExclude("coffee");
    await expectError(() => manager.withContext("late"), "SESSION_STARTED");
  });

  it("keeps the object of a session that is deleted, which starts afresh", async ({ store }) => {
    for (const cached of [true, false]) {
      const manager = SessionManager.create(store).withContext("memory");
      if (cached) manager.withCachedPrompt();
      const session = manager.getSession("a");
      const seen: string[] = [];
      session.subscribe((event) => {
        if (event.type === "messages") seen.push(event.change);
      });
      await session.appendMessage(message("m"));
      await session.replaceContextBlock("memory", "coffee");
      await session.addContext("added", { provider: { get: async () => "tea" } });
      expect(await session.refreshSystemPrompt()).toInclude("coffee");
      const tools = await session.tools();
      await manager.delete("a");
      expect(manager.getSession("a") === session).toBe(true);
      await expectError(() => session.getContextBlocks(), "CONTEXT_NOT_LOADED");
      expect(await historyIds(session)).toEqual([]);
      const prompt = await session.freezeSystemPrompt();
      expect(prompt).toExclude("coffee");
      expect(prompt).toExclude("tea");
      expect(session.getContextBlocks().map(({ label, content }) => [label, content])).toEqual([["memory", ""]]);
      await tools.set_context?.execute({ label: "memory", content: "water" });
      expect(session.getContextBlock("memory")?.content).toBe("water");
      await session.appendMessage(message("m"));
      expect(seen).toEqual(["append", "append"]);
      await expectError(() => session.withContext("late"), "SESSION_STARTED");
      await manager.delete("a");
    }
  });

  it("freezes no prompt that was being rendered when its session was deleted", async ({ store }) => {
    const renderings: ((content: string) => void)[] = [];
    let asked = (): void => {};
    const get = () =>
      new Promise<string>((resolve) => {
        renderings.push(resolve);
        asked();
      });
    const nextRendering = () =>
      new Promise<void>((resolve) => {
        asked = resolve;
      });
    const manager = SessionManager.create(store).withContext("soul", { provider: { get } }).withCachedPrompt();
    const session = manager.getSession("a");
    const first = nextRendering();
    const freezing = session.freezeSystemPrompt();
    await first;
    await manager.delete("a");
    renderings[0]?.("old");
    await freezing;
    expect(await store.blocks.get(promptKey("a"))).toBe(null);
    const second = nextRendering();
    const again = session.freezeSystemPrompt();
    await second;
    renderings[1]?.("new");
    expect(await again).toInclude("new");
  });

  it("does not pause compaction in a session because of what it held before it was deleted", async ({ store }) => {
    let tried = 0;
    const manager = SessionManager.create(store)
      .onCompaction(async () => {
        tried += 1;
        return null;
      })
      .compactAfter(1, { tokenCounter: () => 10 });
    const session = manager.getSession("a");
    await chain(session, ["m", "n", "o", "p"]);
    expect(tried).toBe(3);
    await manager.delete("a");
    await session.appendMessage(message("m"));
    expect(tried).toBe(4);
  });

  it("hands on how to compact, when, and what to do when that fails to each of its sessions", async ({ store }) => {
    const failures: unknown[] = [];
    const manager = SessionManager.create(store)
      .onCompaction(async () => {
        throw new RangeError("the model is away");
      })
      .compactAfter(2, { tokenCounter: ({ messages }) => messages.length })
      .onCompactionError((error) => {
        failures.push(error);
      })
      .withExpandableSummaries();
    for (const id of ["a", "b"]) {
      failures.length = 0;
      await manager.appendAll(id, [message("m"), message("n")]);
      expect(failures).toEqual([]);
      await manager.append(id, message("o"));
      expect(failures.map((error) => error instanceof RangeError)).toEqual([true]);
      expect(Object.keys(await manager.getSession(id).tools())).toEqual(["expand_summary"]);
    }
  });

  it("binds our own providers to each session, calls a function for each, and shares any other object", async ({
    store,
  }) => {
    const made: string[] = [];
    let shared = "";
    const manager = SessionManager.create(store)
      .withContext("own", { provider: new AgentContextProvider(store, "notes") })
      .withContext("called", {
        provider: (id) => {
          made.push(id);
          return new AgentContextProvider(store, `called for ${id}`);
        },
      })
      .withContext("shared", {
        provider: {
          get: async () => shared,
          set: async (content: string) => {
            shared = content;
          },
        },
      });
    const [a, b] = [manager.getSession("a"), manager.getSession("b")];
    for (const label of ["own", "called", "shared"]) await a.replaceContextBlock(label, `${label} of a`);
    await b.tools();
    expect(b.getContextBlocks().map(({ content }) => content)).toEqual(["", "", "shared of a"]);
    expect(made).toEqual(["a", "b"]);
  });

  it("refuses one object for the cached prompts of all sessions", async ({ store }) => {
    const shared = { get: async () => null, set: async () => {} };
    await expectError(() => SessionManager.create(store).withCachedPrompt(shared), "PROVIDER_SHARED");
    const manager = SessionManager.create(store).withCachedPrompt((id) => {
      let prompt: string | null = null;
      return {
        get: async () => prompt,
        set: async (content: string) => {
          prompt = `${id}: ${content}`;
        },
      };
    });
    await manager.getSession("a").freezeSystemPrompt();
  });

  it("configures a session by chaining until its first use", async ({ sessionOf }) => {
    const session = sessionOf("s").withContext("memory").withCachedPrompt().compactAfter(100_000);
    await session.appendMessage(message("a"));
    for (const change of [
      () => session.withContext("more"),
      () => session.withCachedPrompt(),
      () => session.onCompaction(async () => null),
      () => session.compactAfter(1),
      () => session.onCompactionError(() => {}),
      () => session.withExpandableSummaries(),
      () => session.forSession("other"),
    ]) {
      await expectError(change, "SESSION_STARTED");
    }
  });

  it("builds the same session with the direct constructor", async ({ store, session }) => {
    await chain(session, ["a"]);
    const direct = new Session(new AgentSessionProvider(store, "main"), {
      context: [{ label: "soul", provider: { get: async () => "kind" } }],
    });
    expect(await historyIds(direct)).toEqual(["a"]);
    expect(await direct.freezeSystemPrompt()).toInclude("kind");
  });

  it("takes a prompt store, a token counter and an error handler in the direct constructor", async ({ store }) => {
    const kept: string[] = [];
    const failures: unknown[] = [];
    const build = () =>
      new Session(new AgentSessionProvider(store, "main"), {
        context: [{ label: "memory" }],
        promptStore: { get: async () => kept.at(-1) ?? null, set: async (content) => kept.push(content) },
        tokenCounter: ({ messages }) => messages.length,
        onCompactionError: (error) => {
          failures.push(error);
        },
      })
        .onCompaction(async () => {
          throw new RangeError("the model is away");
        })
        .compactAfter(2);
    const session = build();
    const prompt = await session.freezeSystemPrompt();
    await session.replaceContextBlock("memory", "coffee");
    expect(await build().freezeSystemPrompt()).toBe(prompt);
    expect(kept).toEqual([prompt]);
    await session.appendAll([message("a"), message("b")]);
    expect(failures.length).toBe(0);
    await session.appendMessage(message("c"));
    expect(failures.map((error) => error instanceof RangeError)).toEqual([true]);
  });

  it("refuses another id for a provider that is bound to one", async ({ store }) => {
    const bound = () => Session.create(new AgentSessionProvider(store, "one"));
    await expectError(() => bound().forSession("two"), "SESSION_ID_BOUND");
    expect(bound().forSession("one").id).toBe("one");
    expect(Session.create(store).forSession("two").id).toBe("two");
  });

  it("keeps the unnamed session apart from named ones", async ({ store, session }) => {
    const unnamed = Session.create(store);
    expect(unnamed.id).toBe("");
    await unnamed.appendMessage(message("a", "unnamed"));
    await session.appendMessage(message("a", "named"));
    expect(await historyTexts(unnamed)).toEqual(["unnamed"]);
    await forkedTree(session);
    expect(await unnamed.getPathLength()).toBe(1);
  });

  it("keeps registry and counters across a restart", ["durable"], async (workspace) => {
    const { manager } = workspace;
    await manager.create("Chat", { id: "a", model: "m" });
    await manager.addUsage("a", 3, 4, 0.5);
    await manager.append("b", message("m"));
    const before = await manager.list();
    const again = await workspace.restart();
    expect(await again.manager.list()).toEqual(before);
  });
});

/** Waits until the clock has moved on: times are stored in milliseconds. */
async function later(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 3));
}
