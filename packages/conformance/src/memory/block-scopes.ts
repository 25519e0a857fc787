import { AgentSearchProvider, Session } from "@stemma/session";
import { expect, expectError } from "../assert.js";
import { chain, managerOfScopes, numbered } from "../samples.js";
import { fill } from "../sessions/forks.js";
import { defineTopic } from "../topic.js";

/** Blocks and entries that several sessions share, and what becomes of them. */
export const blockScopes = defineTopic("blocks of users and keys", (it) => {
  it("shows a user's block in all sessions of the user, and in no other's", async (workspace) => {
    const { manager } = workspace;
    const shared = () => manager.withContext("memory", { scope: "user", maxTokens: 100 }).withCachedPrompt();
    const [ada, bob] = [shared().forUser("ada"), manager.forUser("bob")];
    const [one, two] = [ada.getSession("one"), ada.getSession("two")];
    const { set_context } = await one.tools();
    expect(await set_context?.execute({ label: "memory", content: "Likes tea." })).toInclude("Replaced memory");
    expect(await two.freezeSystemPrompt()).toInclude("Likes tea.");
    await two.appendContextBlock("memory", "Has a cat.");
    expect(await one.refreshSystemPrompt()).toInclude("Likes tea.\nHas a cat.");
    expect(one.getContextBlock("memory")?.version).toBe(2);
    expect(await bob.getSession("three").freezeSystemPrompt()).toExclude("tea");
    await expectError(two.replaceContextBlock("memory", "x", { expectedVersion: 1 }), "BLOCK_CONFLICT");
    await expectError(two.replaceContextBlock("memory", "tea ".repeat(400)), "BLOCK_OVER_BUDGET");
  });

  it("keeps a user's blocks when sessions are deleted, forked and cleared", async (workspace) => {
    const { manager } = workspace;
    const ada = manager.withContext("memory", { scope: "user" }).withContext("own").forUser("ada");
    const session = ada.getSession("main");
    await chain(session, ["a"]);
    await session.replaceContextBlock("memory", "tea");
    await session.replaceContextBlock("own", "cake");
    const fork = ada.getSession((await ada.fork("main", "a", "fork")).id);
    await session.appendContextBlock("memory", "and milk");
    await session.clearMessages();
    await ada.delete("main");
    expect(await fork.freezeSystemPrompt()).toInclude("tea\nand milk");
    expect(await ada.getSession("main").freezeSystemPrompt()).toExclude("cake");
    expect(await ada.getSession("new").freezeSystemPrompt()).toInclude("tea\nand milk");
    expect((await manager.list()).map(({ user_id }) => user_id)).toEqual(["ada"]);
  });

  it("shares a block under a key, with whoever names it", async ({ store, manager }) => {
    const teams = manager
      .withContext("team", { scope: { key: "team-7" } })
      .withContext("user", { scope: { key: "user" } })
      .withContext("own", { scope: "session" });
    await teams.forUser("ada").getSession("a").replaceContextBlock("team", "Meets on Monday.");
    await teams.forUser("ada").getSession("a").replaceContextBlock("own", "mine");
    const prompt = await teams.forUser("bob").getSession("b").freezeSystemPrompt();
    expect(prompt).toInclude("Meets on Monday.");
    expect(prompt).toExclude("mine");
    const other = Session.create(store).withContext("team", { scope: { key: "team-8" } });
    expect(await other.freezeSystemPrompt()).toExclude("Monday");
    const same = Session.create(store)
      .forSession("c")
      .withContext("team", { scope: { key: "team-7" } });
    expect(await same.freezeSystemPrompt()).toInclude("Monday");
  });

  it("refuses a user's block in a session of nobody, and a scope beside a provider", async ({ store, manager }) => {
    const open = (id: string) => Session.create(store).forSession(id).withContext("memory", { scope: "user" });
    await expectError(open("main").freezeSystemPrompt(), "USER_REQUIRED");
    await expectError(open("main").replaceContextBlock("memory", "tea"), "USER_REQUIRED");
    await chain(Session.create(store).forSession("main"), ["a"]);
    await expectError(open("main").tools(), "USER_REQUIRED");
    await manager.create("Chat", { id: "owned", userId: "ada" });
    await open("owned").replaceContextBlock("memory", "tea");
    expect(await open("main").forUser("ada").freezeSystemPrompt()).toInclude("tea");
    const provider = { get: () => "text" };
    for (const scope of ["user", "session", { key: "k" }, "team", {}, null, { key: "" }] as never[]) {
      const wrong = Session.create(store).withContext("memory", { scope, provider });
      await expectError(async () => wrong.freezeSystemPrompt(), "INVALID_ARGUMENT");
    }
    for (const scope of ["team", {}, null, { key: "" }] as never[]) {
      await expectError(async () => Session.create(store).withContext("m", { scope }).tools(), "INVALID_ARGUMENT");
      await expectError(async () => new AgentSearchProvider(store, { scope }), "INVALID_ARGUMENT");
    }
    await expectError(async () => new AgentSearchProvider(store, { scope: "user", shared: true }), "INVALID_ARGUMENT");
  });

  it(
    "finds a user's entries in all sessions of the user, and in no other's",
    ["search"],
    async ({ store, manager }) => {
      const facts = new AgentSearchProvider(store, { scope: "user" });
      const team = new AgentSearchProvider(store, { scope: { key: "team" } });
      const all = manager.withContext("facts", { provider: facts }).withContext("team", { provider: team });
      const tools = (userId: string, id: string) => all.forUser(userId).getSession(id).tools();
      const write = async (label: string, content: string, title: string) =>
        (await tools("ada", "one")).set_context?.execute({ label, content, metadata: { title } });
      await write("facts", "Ada has a parrot.", "parrot");
      await write("team", "The team has a budget.", "budget");
      const find = async (userId: string, label: string, query: string) =>
        (await tools(userId, `chat of ${userId}`)).search_context?.execute({ label, query });
      expect(await find("ada", "facts", "parrot")).toInclude("Ada has a parrot.");
      expect(await find("bob", "facts", "parrot")).toExclude("Ada has");
      expect(await find("bob", "team", "budget")).toInclude("The team has a budget.");
      await expectError(facts.search("parrot"), "USER_REQUIRED");
      const outside = new AgentSearchProvider(store, { scope: "user", label: "facts" }).forUser("ada");
      expect(await outside.get()).toBe("1 entry indexed.");
      await outside.set("cat", "Ada has a cat.");
      expect(await find("ada", "facts", "cat")).toInclude("Ada has a cat.");
    },
  );

  it("keeps every append to a user's block of several sessions", async ({ manager }) => {
    const ada = manager.withContext("memory", { scope: "user" }).forUser("ada");
    const lines = numbered("line ", 40);
    await Promise.all(
      lines.map((line, index) => ada.getSession(`chat ${index % 4}`).appendContextBlock("memory", line)),
    );
    const session = ada.getSession("other");
    await session.tools();
    expect(session.getContextBlock("memory")?.content.split("\n").sort()).toEqual(lines);
  });

  it("finds nothing wrong with the blocks and entries of users", ["check"], async (workspace) => {
    const { store } = workspace;
    const session = managerOfScopes(workspace).forUser("ada").getSession("main");
    await fill(session);
    await session.replaceContextBlock("mine", "tea");
    await (await session.tools()).set_context?.execute({ label: "my facts", content: "x", metadata: { title: "x" } });
    for (const repair of [false, true, false]) expect((await store.check?.({ repair }))?.problems).toEqual([]);
    expect(await managerOfScopes(workspace).forUser("ada").getSession("other").freezeSystemPrompt()).toInclude("tea");
    expect(store.forUser("ada").capabilities.check).toBe(false);
  });
});
