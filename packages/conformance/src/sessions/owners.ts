import { AgentSearchProvider, Session, SessionManager } from "@stemma/session";
import { orderOf } from "@stemma/store";
import { expect, expectError } from "../assert.js";
import { chain, collect, historyIds, managerOfScopes, message, numbered, snapshot } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";
import { fill } from "./forks.js";

const CANARY = "xylophone";

/** Whose a session is, and what another user sees of it. Blocks of users are the topic of `block-scopes.ts`. */
export const owners = defineTopic("owners", (it) => {
  it("gives a user's manager the sessions of that user only, and makes them that user's", async (workspace) => {
    const { manager } = workspace;
    const [ada, bob] = [manager.forUser("ada"), manager.forUser("bob")];
    await chain(ada.getSession("a"), ["x"]);
    await ada.create("Made", { id: "made" });
    await chain(workspace.sessionOf("nobody"), ["x"]);
    await chain(bob.getSession("b"), ["x"]);
    expect((await ada.list()).map(({ id, user_id }) => [id, user_id]).sort()).toEqual([
      ["a", "ada"],
      ["made", "ada"],
    ]);
    expect((await ada.listPage({ userId: "bob" })).sessions).toEqual([]);
    expect((await manager.list()).length).toBe(4);
    expect((await ada.fork("a", "x", "Fork")).user_id).toBe("ada");
    expect((await ada.compactAndSplit("a", "summary")).user_id).toBe("ada");
    expect((await ada.update("a", { metadata: { k: 1 } })).metadata).toEqual({ k: 1 });
    expect((await ada.fork("a", "x", "Fork")).metadata).toEqual({ k: 1 });
    await ada.delete("a");
    expect(await ada.get("a")).toBe(null);
  });

  it("treats another user's session as one that is not there, and changes nothing of it", async (workspace) => {
    const { manager } = workspace;
    const ada = managerOfScopes(workspace).forUser("ada");
    await fill(ada.getSession("main"));
    await chain(workspace.sessionOf("nobody"), ["x"]);
    const bob = managerOfScopes(workspace).forUser("bob");
    const before = await snapshot(workspace);
    for (const id of ["main", "nobody"]) {
      expect(await bob.get(id)).toBe(null);
      for (const call of [
        () => bob.rename(id, "stolen"),
        () => bob.update(id, { metadata: { stolen: true } }),
        () => bob.addUsage(id, 1, 1),
        () => bob.fork(id, id === "main" ? "a" : "x", "stolen"),
        () => bob.compactAndSplit(id, "stolen"),
      ]) {
        await expectError(call(), "SESSION_NOT_FOUND");
      }
      await bob.delete(id);
    }
    const session = bob.getSession("main");
    for (const call of [
      () => bob.create("stolen", { id: "main" }),
      () => bob.append("main", message("x")),
      () => bob.appendAll("main", [message("x")]),
      () => bob.upsert("main", message("a", "changed")),
      () => bob.getHistory("main"),
      () => bob.getBranches("main", "a"),
      () => bob.getMessageCount("main"),
      () => bob.clearMessages("main"),
      () => bob.deleteMessages("main", ["a"]),
      () => bob.addCompaction("main", "s", "a", "b"),
      () => bob.getCompactions("main"),
      () => session.updateMessage(message("a", "changed")),
      () => session.getMessage("a"),
      () => session.getLatestLeaf(),
      () => session.getTree(),
      () => session.getParent("b"),
      () => session.getSiblings("a"),
      () => session.selectBranch("a"),
      () => session.editMessage("a", message("x")),
      () => session.removeCompaction("c"),
      () => session.prepareTurn(),
      () => session.getRecentHistory(1000),
      () => collect(session.history()),
      () => session.setActiveLeaf("a"),
      () => session.replaceContextBlock("memory", "stolen"),
      () => session.replaceContextBlock("mine", "stolen"),
      () => session.freezeSystemPrompt(),
      () => session.refreshSystemPrompt(),
      () => session.tools(),
      () => session.getLoadedSkillKeys(),
      () => workspace.store.forUser("bob").session("main").skills(),
      () => workspace.store.forUser("bob").records.list({ sessionId: "main", label: "runs" }),
    ]) {
      await expectError(call(), "SESSION_OWNED");
    }
    await expectError(async () => ada.forUser("bob"), "SESSION_OWNED");
    await expectError(ada.claim("bob", "ada"), "SESSION_OWNED");
    expect(await snapshot(workspace)).toEqual(before);
    expect(await manager.get("main")).toEqual(await ada.get("main"));
  });

  it("shows no text of one user in any read, search, tool or prompt of another", async (workspace) => {
    const { store } = workspace;
    const ada = managerOfScopes(workspace).forUser("ada").getSession("main");
    await fill(ada);
    await ada.appendAll([message("c", CANARY), message("d", `more ${CANARY}`)]);
    await ada.addCompaction(`summary ${CANARY}`, "c", "c");
    const { set_context } = await ada.tools();
    for (const label of ["memory", "mine"]) await set_context?.execute({ label, content: CANARY });
    for (const label of ["facts", "my facts"]) {
      await set_context?.execute({ label, content: CANARY, metadata: { title: CANARY, description: CANARY } });
    }
    await ada.freezeSystemPrompt();
    await store.sessions.update("main", { name: CANARY, metadata: { topic: CANARY } });

    for (const userId of ["bob", "Ada", "ada ", "ad", "ada:", "%", "main"]) {
      const manager = managerOfScopes(workspace).withSearchableHistory("history").forUser(userId);
      const own = manager.getSession(`own of ${userId}`);
      await own.appendMessage(message("own", "text of my own"));
      const stranger = manager.getSession("main");
      const tools = await own.tools();
      const ask = async (label: string) => {
        // A refusal repeats what was asked for.
        const asked = await tools.search_context?.execute({ label, query: `${CANARY} own text` });
        return asked?.replaceAll(CANARY, "");
      };
      const refused = async (call: Promise<unknown>) => call.then(String, (error: unknown) => JSON.stringify(error));
      const seen: unknown[] = [
        await manager.list(),
        (await manager.listPage({ metadata: { topic: CANARY } })).sessions.length,
        await own.freezeSystemPrompt(),
        own.getContextBlocks(),
        Object.values(tools).map(({ description }) => description),
        await refused(stranger.getHistory()),
        await refused(stranger.freezeSystemPrompt()),
        await refused(stranger.tools()),
        await refused(stranger.prepareTurn()),
        await own.prepareTurn(),
        await refused(manager.create("x", { id: "main" })),
      ];
      if (store.capabilities.search) {
        seen.push(await ask("facts"), await ask("my facts"), await ask("history"));
        const hits = [
          ...(await manager.search(CANARY)),
          ...(await manager.search(CANARY, { sessionIds: ["main"] })),
          ...(await manager.search("text canary", { limit: 100, context: 5 })),
          ...(await manager.searchPage(CANARY)).results,
          ...(await manager.searchGroups(CANARY, { groupBy: "exchange" })).results,
          ...(await manager.searchGroups("text canary", { groupBy: "session" })).results,
        ];
        seen.push(hits, await refused(stranger.search(CANARY)));
        const search = (await manager.tools()).session_search;
        seen.push((await search.execute({ query: CANARY })).replace(CANARY, ""));
        await expectError(manager.search(CANARY, { sessionIds: ["main"], leafId: "c" }), "SESSION_OWNED");
      }
      expect(JSON.stringify(seen)).toExclude(CANARY);
      expect(JSON.stringify(seen)).toExclude("canary");
    }
    if (store.capabilities.search) {
      expect((await managerOfScopes(workspace).forUser("ada").search(CANARY)).length).toBe(2);
    }
  });

  it("makes a session of nobody the user's at the first write, and not by reading", async (workspace) => {
    const { store, sessionOf, manager } = workspace;
    const ownerOf = async (id: string) => (await manager.get(id))?.user_id;
    await chain(sessionOf("main"), ["a"]);
    const ada = Session.create(store).forSession("main").forUser("ada");
    expect(await historyIds(ada)).toEqual(["a"]);
    expect(await ownerOf("main")).toBe(null);
    await chain(ada, ["b"]);
    expect(await ownerOf("main")).toBe("ada");
    await expectError(Session.create(store).forUser("bob").forSession("main").getHistory(), "SESSION_OWNED");
    await chain(sessionOf("main"), ["c"]);
    expect(await historyIds(ada)).toEqual(["a", "b", "c"]);
    expect(await ownerOf("main")).toBe("ada");
    const writes: ((session: Session) => Promise<unknown>)[] = [
      (session) => session.appendAll([message("x"), message("y")]),
      (session) => session.upsertMessage(message("x")),
      (session) => session.replaceContextBlock("memory", "tea"),
      (session) => session.freezeSystemPrompt(),
    ];
    for (const [index, write] of writes.entries()) {
      await write(managerOfScopes(workspace).forUser("ada").getSession(`new ${index}`));
      expect([index, await ownerOf(`new ${index}`)]).toEqual([index, "ada"]);
    }
    expect((await manager.forUser("ada").create("Taken", { id: "taken" })).user_id).toBe("ada");
  });

  it("keeps the unnamed session's messages and blocks for the user who wrote first", async ({ store }) => {
    const open = (userId: string) => Session.create(store).forUser(userId).withContext("memory");
    await open("ada").replaceContextBlock("memory", CANARY);
    await expectError(open("bob").freezeSystemPrompt(), "SESSION_OWNED");
    await expectError(open("bob").appendMessage(message("a")), "SESSION_OWNED");
    await open("ada").appendMessage(message("a"));
    expect(await open("ada").freezeSystemPrompt()).toInclude(CANARY);
  });

  it("keeps a session from its former user's objects, whoever has it since", async (workspace) => {
    const { store, manager } = workspace;
    const held = Session.create(store).forSession("main").forUser("ada").withContext("memory");
    await chain(held, ["a"]);
    const tools = await held.tools();
    await manager.delete("main");
    const bob = Session.create(store).forSession("main").forUser("bob").withContext("memory");
    await chain(bob, ["b"]);
    await bob.replaceContextBlock("memory", CANARY);
    await expectError(held.getHistory(), "SESSION_OWNED");
    await expectError(held.appendMessage(message("c")), "SESSION_OWNED");
    const answer = await tools.set_context?.execute({ label: "memory", content: "more", action: "append" });
    expect(answer).toInclude("another user");
    expect([await historyIds(bob), answer?.includes(CANARY)]).toEqual([["b"], false]);
  });

  it("gives a new session to one of several users who write first at the same time", async ({ store, manager }) => {
    const users = numbered("user-", 8);
    const results = await Promise.allSettled(
      users.map((user) => manager.forUser(user).append("main", message(`of ${user}`))),
    );
    const winners = users.filter((_, index) => results[index]?.status === "fulfilled");
    expect([winners.length, (await manager.get("main"))?.user_id]).toEqual([1, winners[0]]);
    expect((await store.session("main").path()).messages).toEqual([message(`of ${winners[0]}`)]);
  });

  it("tells a user's part of a store from another store", async ({ store }) => {
    // By `order`, or by `whole`: what is learned goes into the blocks of the session's own store alone.
    for (const part of [store.forUser("ada"), store.forUser("ada").forUser("ada")]) {
      expect(orderOf(part) === orderOf(store)).toBe(true);
    }
  });

  it("refuses ids of sessions that stand for users, and unnamed users", async ({ store, manager }) => {
    for (const id of ["stemma:user:ada", "stemma:key:team", "stemma:"]) {
      await expectError(async () => Session.create(store).forSession(id).getHistory(), "INVALID_ARGUMENT");
      await expectError(manager.create("x", { id }), "INVALID_ARGUMENT");
      await expectError(async () => new AgentSearchProvider(store).forSession(id), "INVALID_ARGUMENT");
    }
    const block = { sessionId: "stemma:user:ada", kind: "block", label: "memory" } as const;
    await expectError(store.forUser("bob").blocks.get(block), "SESSION_OWNED");
    await manager.delete("stemma:user:ada");
  });

  it("gives what an anonymous user has to the user at the login", async (workspace) => {
    const { store, manager } = workspace;
    const both = managerOfScopes(workspace);
    const write = async (userId: string, id: string, blocks: Record<string, string>) => {
      const session = both.forUser(userId).getSession(id);
      await chain(session, ["a"]);
      for (const [label, content] of Object.entries(blocks)) {
        await store.forUser(userId).blocks.set({ sessionId: "", kind: "block", label, scope: "user" }, content);
      }
      return session;
    };
    const old = await write("anon", "draft", { mine: "Likes tea.", plan: "Go home.", same: "cat" });
    await write("ada", "chat", { mine: "Is called Ada.", same: "Has a cat." });
    await write("bob", "other", { mine: "Is called Bob." });
    const entries = (userId: string) =>
      new AgentSearchProvider(store, { scope: "user", label: "my facts" }).forUser(userId);
    await entries("anon").set("sky", "The sky is grey.");
    await entries("anon").set("sea", "The sea is deep.");
    await entries("ada").set("sky", "The sky is blue.");
    const untouched = await manager.get("other");
    for (const claimed of [1, 0]) expect(await manager.claim("anon", "ada")).toBe(claimed);
    expect((await manager.forUser("ada").list()).map(({ id }) => id).sort()).toEqual(["chat", "draft"]);
    expect(await manager.forUser("anon").list()).toEqual([]);
    await expectError(old.getHistory(), "SESSION_OWNED");
    const blockOf = async (userId: string, label: string) =>
      (await store.forUser(userId).blocks.get({ sessionId: "", kind: "block", label, scope: "user" }))?.content;
    expect(await blockOf("ada", "mine")).toBe("Is called Ada.\nLikes tea.");
    expect(await blockOf("ada", "plan")).toBe("Go home.");
    expect(await blockOf("ada", "same")).toBe("Has a cat.");
    expect(await blockOf("anon", "mine")).toBe(undefined);
    expect(await blockOf("bob", "mine")).toBe("Is called Bob.");
    expect(await entries("anon").get()).toBe(null);
    expect(await entries("ada").get()).toBe("2 entries indexed.");
    if (store.capabilities.search) {
      expect(await entries("ada").search("sky")).toInclude("The sky is blue.\nThe sky is grey.");
      expect(await entries("ada").search("deep")).toInclude("The sea is deep.");
    }
    expect(await manager.get("other")).toEqual(untouched);
    expect(await both.forUser("ada").getSession("draft").freezeSystemPrompt()).toInclude("Likes tea.");
    if (store.capabilities.check) expect((await store.check?.())?.problems).toEqual([]);
  });

  it("finds owners, metadata and the blocks of users again after a restart", ["durable"], async (workspace) => {
    const configured = ({ store }: Workspace) =>
      SessionManager.create(store).withContext("memory", { scope: "user" }).forUser("ada");
    await configured(workspace).create("Chat", { id: "main", metadata: { topic: "tea" } });
    await configured(workspace).getSession("main").replaceContextBlock("memory", "Likes tea.");
    const again = await workspace.restart();
    const info = await configured(again).get("main");
    expect([info?.user_id, info?.metadata]).toEqual(["ada", { topic: "tea" }]);
    expect(await configured(again).getSession("another").freezeSystemPrompt()).toInclude("Likes tea.");
    expect((await again.manager.list()).map(({ id }) => id)).toEqual(["main"]);
    await expectError(again.manager.forUser("bob").getHistory("main"), "SESSION_OWNED");
  });
});
