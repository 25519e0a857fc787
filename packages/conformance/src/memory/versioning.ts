// One topic of the suite: its cases, one after the other.
import { AgentContextProvider, AgentSearchProvider } from "@stemma/session";
import type { StoredVersion } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { chain, message, numbered } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const MEMORY = { sessionId: "main", kind: "block", label: "memory" } as const;
const FACTS = { sessionId: "main", label: "facts" };

const contents = (versions: readonly StoredVersion[]) => versions.map(({ version, content }) => [version, content]);

const answer = (id: string) => message(id, `text of ${id}`, "assistant");

const withFacts = ({ store, sessionOf }: Workspace, id = "main") =>
  sessionOf(id).withContext("facts", { provider: new AgentSearchProvider(store) });

/** Former versions of blocks and entries, who wrote them, and writes of what the model has not seen. */
export const versions = defineTopic("versions", (it) => {
  it("keeps each version of a block, the newest first", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory");
    expect(await session.getBlockHistory("memory")).toEqual([]);
    await session.replaceContextBlock("memory", "coffee");
    await session.appendContextBlock("MEMORY", "tea");
    await session.replaceContextBlock("memory", "");
    const history = await session.getBlockHistory("Memory");
    expect(contents(history)).toEqual([
      [3, ""],
      [2, "coffee\ntea"],
      [1, "coffee"],
    ]);
    for (const { author, sessionId, messageIds, toolCallId, writtenAt } of history) {
      expect([author, sessionId, messageIds, toolCallId]).toEqual(["program", "main", [], null]);
      expect(new Date(writtenAt).toISOString()).toBe(writtenAt);
    }
  });

  it("notes of what the model wrote the message that it answers and the tool call", async (workspace) => {
    const session = withFacts(workspace).withContext("memory").withCachedPrompt();
    await session.appendMessage(message("u1"));
    const { set_context } = await session.tools();
    await set_context?.execute({ label: "memory", content: "coffee" }, { toolCallId: "call-1" });
    await session.appendAll([answer("a1"), message("u2")]);
    await session.prepareTurn();
    await set_context?.execute({ label: "memory", content: "tea", action: "append" }, { toolCallId: "call-2" });
    await set_context?.execute(
      { label: "facts", content: "blue", metadata: { title: "sky" } },
      { toolCallId: "call-3" },
    );
    const noted = (history: StoredVersion[]) =>
      history.map(({ author, sessionId, messageIds, toolCallId }) => [author, sessionId, messageIds, toolCallId]);
    expect(noted(await session.getBlockHistory("memory"))).toEqual([
      ["model", "main", ["u2"], "call-2"],
      ["model", "main", ["u1"], "call-1"],
    ]);
    expect(noted(await session.getBlockHistory("facts", { key: "sky" }))).toEqual([
      ["model", "main", ["u2"], "call-3"],
    ]);
  });

  it("restores a version as a new one", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory", { maxTokens: 50 });
    await session.replaceContextBlock("memory", "coffee");
    await session.replaceContextBlock("memory", "tea");
    expect((await session.restoreBlock("memory", 1)).content).toBe("coffee");
    expect(contents(await session.getBlockHistory("memory"))).toEqual([
      [3, "coffee"],
      [2, "tea"],
      [1, "coffee"],
    ]);
    await expectError(session.restoreBlock("memory", 9), "VERSION_NOT_FOUND");
    await expectError(session.restoreBlock("nowhere", 1), "BLOCK_NOT_FOUND");
    const tighter = sessionOf("main").withContext("memory", { maxTokens: 1 });
    await expectError(tighter.restoreBlock("memory", 1), "BLOCK_OVER_BUDGET");
    expect((await session.readContextBlock("memory"))?.version).toBe(3);
  });

  it("keeps the versions of entries, that one was removed among them, and restores them", async (workspace) => {
    const { store } = workspace;
    const session = withFacts(workspace);
    const key = "sky";
    const { set_context } = await session.tools();
    const write = (content: string, action: "replace" | "append") =>
      set_context?.execute({ label: "facts", content, action, metadata: { title: key } });
    await write("blue", "replace");
    await write("and wide", "append");
    await store.entries.delete(FACTS, key);
    expect(await store.entries.get(FACTS, key)).toBe(null);
    const history = await session.getBlockHistory("facts", { key });
    expect(contents(history)).toEqual([
      [3, null],
      [2, "blue\nand wide"],
      [1, "blue"],
    ]);
    await session.restoreBlock("facts", 2, { key });
    expect((await store.entries.get(FACTS, key))?.content).toBe("blue\nand wide");
    await session.restoreBlock("facts", 3, { key });
    expect(await store.entries.get(FACTS, key)).toBe(null);
    expect((await store.entries.versions(FACTS, key)).map(({ version }) => version)).toEqual([5, 4, 3, 2, 1]);
    await expectError(session.restoreBlock("facts", 9, { key }), "VERSION_NOT_FOUND");
    await expectError(session.getBlockHistory("facts"), "INVALID_ARGUMENT");
    expect(await session.getBlockHistory("facts", { key: "unknown" })).toEqual([]);
  });

  it("keeps fifty versions, or as many as it is told", async ({ store, sessionOf }) => {
    const session = sessionOf("main").withContext("memory").withContext("few", { keepVersions: 2 });
    for (const text of numbered("v", 53)) await session.replaceContextBlock("memory", text);
    const kept = await session.getBlockHistory("memory");
    expect([kept.length, kept[0]?.version, kept.at(-1)?.version]).toEqual([50, 53, 4]);
    for (const text of ["a", "b", "c"]) await session.replaceContextBlock("few", text);
    expect(contents(await session.getBlockHistory("few"))).toEqual([
      [3, "c"],
      [2, "b"],
    ]);
    const none = sessionOf("main").withContext("few", { keepVersions: 0 });
    await none.replaceContextBlock("few", "d");
    expect(contents(await none.getBlockHistory("few"))).toEqual([[4, "d"]]);
    await none.replaceContextBlock("few", "e");
    await session.replaceContextBlock("few", "f");
    expect(contents(await session.getBlockHistory("few"))).toEqual([
      [6, "f"],
      [5, "e"],
    ]);
    for (const text of ["a", "b", "c"]) {
      await store.entries.set(FACTS, { key: "sky", content: text }, { keepVersions: 2 });
    }
    expect(contents(await store.entries.versions(FACTS, "sky"))).toEqual([
      [3, "c"],
      [2, "b"],
    ]);
    await store.entries.delete(FACTS, "sky", { keepVersions: 0 });
    expect(await store.entries.versions(FACTS, "sky")).toEqual([]);
    await expectError(async () => sessionOf("x").withContext("m", { keepVersions: 0.5 }).tools(), "INVALID_ARGUMENT");
  });

  it("keeps the versions of a user's and a key's blocks, with the session that wrote each", async ({ sessionOf }) => {
    for (const scope of ["user", { key: "team" }] as const) {
      const of = (id: string) => sessionOf(id).forUser("ada").withContext("memory", { scope });
      await of("one").replaceContextBlock("memory", "coffee");
      await of("two").replaceContextBlock("memory", "tea");
      const history = await of("three").getBlockHistory("memory");
      expect(history.map(({ content, sessionId }) => [content, sessionId])).toEqual([
        ["tea", "two"],
        ["coffee", "one"],
      ]);
    }
    const other = sessionOf("of bob").forUser("bob").withContext("memory", { scope: "user" });
    expect(await other.getBlockHistory("memory")).toEqual([]);
  });

  it("copies versions to a fork, and removes them with the session", async (workspace) => {
    const { store, manager, session, sessionOf } = workspace;
    await chain(session, ["a"]);
    const own = withFacts(workspace).withContext("memory");
    for (const text of ["coffee", "tea"]) {
      await own.replaceContextBlock("memory", text);
      await store.entries.set(FACTS, { key: "sky", content: text });
    }
    const { id } = await manager.fork("main", "a", "fork");
    const fork = withFacts(workspace, id).withContext("memory");
    expect(await fork.getBlockHistory("memory")).toEqual(await own.getBlockHistory("memory"));
    expect(await fork.getBlockHistory("facts", { key: "sky" })).toEqual(await store.entries.versions(FACTS, "sky"));
    await fork.replaceContextBlock("memory", "milk");
    expect((await own.getBlockHistory("memory")).length).toBe(2);
    await manager.delete("main");
    expect(await store.blocks.versions(MEMORY)).toEqual([]);
    expect(await store.entries.versions(FACTS, "sky")).toEqual([]);
    expect((await sessionOf(id).withContext("memory").getBlockHistory("memory")).length).toBe(3);
    await store.blocks.delete({ ...MEMORY, sessionId: id });
    expect(await store.blocks.versions({ ...MEMORY, sessionId: id })).toEqual([]);
    expect((await fork.replaceContextBlock("memory", "anew")).version).toBe(1);
  });

  it("brings versions along when a user takes over what was anonymous", async (workspace) => {
    const { store, manager, sessionOf } = workspace;
    const of = (user: string, label: string) =>
      sessionOf(`of ${user}`).forUser(user).withContext(label, { scope: "user" });
    for (const text of ["coffee", "tea"]) {
      for (const label of ["both", "anonymous"]) await of("anon", label).replaceContextBlock(label, text);
      for (const key of ["both", "anonymous"]) {
        await store.forUser("anon").entries.set({ ...FACTS, sessionId: "", scope: "user" }, { key, content: text });
      }
    }
    await of("ada", "both").replaceContextBlock("both", "milk");
    const scope = { ...FACTS, sessionId: "", scope: "user" } as const;
    const ada = store.forUser("ada");
    await ada.entries.set(scope, { key: "both", content: "milk" });
    await manager.claim("anon", "ada");
    const moved = [
      [2, "tea"],
      [1, "coffee"],
    ];
    const merged = [
      [2, "milk\ntea"],
      [1, "milk"],
    ];
    expect(contents(await of("ada", "anonymous").getBlockHistory("anonymous"))).toEqual(moved);
    expect(contents(await of("ada", "both").getBlockHistory("both"))).toEqual(merged);
    expect(contents(await ada.entries.versions(scope, "anonymous"))).toEqual(moved);
    expect(contents(await ada.entries.versions(scope, "both"))).toEqual(merged);
    expect(await store.forUser("anon").entries.versions(scope, "both")).toEqual([]);
  });

  it("loses no version of appends that come together", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("memory");
    await Promise.all(numbered("f", 20).map((fact) => session.appendContextBlock("memory", fact)));
    const history = await session.getBlockHistory("memory");
    expect(history.map(({ version }) => version).reverse()).toEqual(numbered("", 20).map((_, index) => index + 1));
    expect(history[0]?.content).toBe((await session.readContextBlock("memory"))?.content);
  });

  it("keeps versions over a restart", ["durable"], async (workspace) => {
    const session = workspace.sessionOf("main").withContext("memory");
    for (const text of ["coffee", "tea"]) await session.replaceContextBlock("memory", text);
    const before = await session.getBlockHistory("memory");
    const again = (await workspace.restart()).sessionOf("main").withContext("memory");
    expect(await again.getBlockHistory("memory")).toEqual(before);
  });

  it("refuses histories of blocks whose provider keeps none", async ({ sessionOf }) => {
    const session = sessionOf("main").withContext("soul", { provider: { get: () => "I am.", set: () => {} } });
    await expectError(session.getBlockHistory("soul"), "INVALID_ARGUMENT");
    await expectError(session.restoreBlock("soul", 1), "INVALID_ARGUMENT");
  });

  it("answers a replace of a block that another chat has changed with its present text", async ({ sessionOf }) => {
    const chat = (id: string) =>
      sessionOf(id).forUser("ada").withContext("memory", { scope: "user" }).withCachedPrompt();
    const [one, two] = [chat("one"), chat("two")];
    for (const session of [one, two]) {
      await session.appendMessage(message("u1"));
      await session.prepareTurn();
    }
    const replace = async (session: typeof one, content: string) =>
      (await session.tools()).set_context.execute({ label: "memory", content });
    expect(await replace(one, "Likes tea.")).toBe("Replaced memory.");
    const refused = await replace(two, "Lives in Lima.");
    expect([refused.startsWith("Error:"), refused.endsWith("\n\nLikes tea.")]).toEqual([true, true]);
    expect((await two.readContextBlock("memory"))?.content).toBe("Likes tea.");
    await replace(two, "Likes tea.\nLives in Lima.");
    // The first chat has not seen what the other one wrote, also not when it appends.
    await (await one.tools()).set_context.execute({ label: "memory", content: "Is 36.", action: "append" });
    expect((await replace(one, "Likes coffee.")).endsWith("\n\nLikes tea.\nLives in Lima.\nIs 36.")).toBe(true);
    // A turn that tells it has it seen.
    await two.appendAll([answer("a1"), message("u2")]);
    await two.prepareTurn();
    expect((await replace(two, "Ada is 36.")).startsWith("Error:")).toBe(false);
    expect((await one.getBlockHistory("memory")).map(({ sessionId }) => sessionId)).toEqual([
      "two",
      "one",
      "two",
      "one",
    ]);
  });

  it("never refuses a session what follows its own writes", async ({ sessionOf }) => {
    const configured = () => sessionOf("main").withContext("memory").withCachedPrompt();
    const session = configured();
    await session.appendMessage(message("u1"));
    await session.prepareTurn();
    const { set_context } = await session.tools();
    const replace = async (content: string, tool = set_context) => {
      expect([content, (await tool?.execute({ label: "memory", content }))?.startsWith("Error:")]).toEqual([
        content,
        false,
      ]);
    };
    await replace("one");
    await session.appendContextBlock("memory", "by the program");
    await replace("two");
    await Promise.all(["three", "four", "five"].map((text) => replace(text)));
    await session.restoreBlock("memory", 1);
    // One that is refused for its size does not count.
    const long = "word ".repeat(60_000);
    const both = [set_context?.execute({ label: "memory", content: long }), replace("six")];
    expect(((await both[0]) as string).startsWith("Error:")).toBe(true);
    await both[1];
    // In the middle of a turn, in another process: its own calls stand in the history.
    await session.appendMessage(answer("a1"));
    const resumed = configured();
    await resumed.prepareTurn();
    await replace("seven", (await resumed.tools()).set_context);
    expect((await session.readContextBlock("memory"))?.content).toBe("seven");
  });

  it("checks no versions where no turn was prepared, as programs do that were written before", async (workspace) => {
    const session = workspace.sessionOf("main").withContext("memory").withCachedPrompt();
    await session.freezeSystemPrompt();
    const { set_context } = await session.tools();
    await workspace.sessionOf("main").withContext("memory").replaceContextBlock("memory", "elsewhere");
    expect(await set_context?.execute({ label: "memory", content: "here" })).toBe("Replaced memory.");
  });

  it("gives a provider made by hand its versions too", async ({ store }) => {
    const provider = new AgentContextProvider(store, "notes", { shared: true });
    await provider.set("one");
    await provider.append("two");
    expect((await provider.versions()).map(({ content, sessionId }) => [content, sessionId])).toEqual([
      ["one\ntwo", null],
      ["one", null],
    ]);
  });
});
