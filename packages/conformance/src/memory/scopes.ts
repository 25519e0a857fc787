import type { EntryScopeOptions } from "@stemma/session";
import { AgentSearchProvider, SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { expect, expectError, expectParts } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

const PROJECT = { key: "project:apollo" };
const SCOPES: readonly EntryScopeOptions[] = [
  { scope: PROJECT, name: "project" },
  { scope: "user", write: true },
  { scope: "session", write: true },
  { scope: { key: "agent:helper" }, name: "agent", write: true },
];

/** Ada's sessions on a project, with one memory over four scopes, each of which holds something about the launch. */
async function world(store: Store, scopes = SCOPES) {
  const provider = new AgentSearchProvider(store, { label: "facts", scopes });
  const manager = SessionManager.create(store).withContext("memory", { provider }).forUser("ada");
  const session = manager.getSession("main");
  const write = (of: string, entries: Store["entries"], scope: EntryScopeOptions["scope"], sessionId = "") =>
    entries.set({ sessionId, scope, label: "facts" }, { key: "launch", content: `The launch, says the ${of}.` });
  const { entries } = store.forUser("ada");
  await write("project", entries, PROJECT);
  await write("user", entries, "user");
  await write("other user", store.forUser("bob").entries, "user");
  await session.appendMessage(message("u0", "Hello."));
  await write("session", entries, "session", "main");
  await manager.append("other", message("o1", "Nothing."));
  await write("other session", entries, "session", "other");
  const { set_context, search_context } = await session.tools();
  const set = async (scope: string | undefined, content: string, metadata: object = { title: "note" }) =>
    (await set_context?.execute({ label: "memory", content, scope, metadata })) ?? "";
  const search = async (query: string) => (await search_context?.execute({ label: "memory", query })) ?? "";
  return { manager, session, provider: provider.forSession("main").forUser("ada"), set, search, set_context };
}

/** One memory over the scopes of a user, a session and several keys. */
export const scopes = defineTopic("one memory over scopes", (it) => {
  it(
    "lists and finds entries of all its scopes, each with the name and the right of its scope",
    ["search"],
    async ({ store }) => {
      const { provider, session, search } = await world(store);
      const named = (found: readonly { scope: string; writable: boolean; content: string }[]) =>
        found.map(({ scope, writable, content }) => `${scope} ${writable} ${content}`);
      const all = [
        "project false The launch, says the project.",
        "user true The launch, says the user.",
        "session true The launch, says the session.",
      ];
      expect(named(await provider.list())).toEqual(all);
      expect(named(await provider.find("launch", { limit: 10 }))).toEqual(all);
      expect(named(await provider.find("launch", { limit: 2 }))).toEqual(all.slice(0, 2));
      const pages = [await provider.list({ limit: 2 })];
      const last = pages[0]?.at(-1);
      pages.push(await provider.list({ limit: 2, after: { scope: last?.scope ?? "", key: last?.key ?? "" } }));
      expect(named(pages.flat())).toEqual(all);
      await expectError(provider.list({ after: { scope: "bob", key: "launch" } }), "INVALID_ARGUMENT");
      const prompt = await session.freezeSystemPrompt();
      expect(prompt).toInclude(
        "project (read-only): 1 entry indexed.\nuser: 1 entry indexed.\nsession: 1 entry indexed.",
      );
      const told = await search("launch");
      for (const name of ["project", "user", "session"])
        expect(told).toInclude(`[${name} · launch]\nThe launch, says the ${name}.`);
      expect(told).toExclude("other");
    },
  );

  it("writes to the scope that is named, or to the user's, and to none that is only read", async ({ store }) => {
    const { set, provider, session } = await world(store);
    expect(await set(undefined, "Likes tea.")).toBe('Wrote entry "note" in memory (user).');
    expect(await set("AGENT", "Answers in French.")).toBe('Wrote entry "note" in memory (agent).');
    const may = "Scopes that may be written: user, session, agent.";
    expect(await set("project", "Launch is off.")).toInclude(`The scope "project" of "memory" is read-only. ${may}`);
    for (const scope of ["bob", "project:apollo", "user, project"])
      expect(await set(scope, "Mine.")).toInclude(`There is no scope "${scope}" here.`);
    const notes = (await provider.list()).filter(({ key }) => key === "note");
    expect(notes.map(({ scope, content }) => `${scope}: ${content}`)).toEqual([
      "user: Likes tea.",
      "agent: Answers in French.",
    ]);
    // So do the program's writes through the provider, and through the session.
    await expectError(provider.set("launch", "x", undefined, { scope: "project" }), "BLOCK_READONLY");
    await expectError(provider.append("launch", "x", { scope: "project" }), "BLOCK_READONLY");
    await expectError(provider.delete("launch", { scope: "project" }), "BLOCK_READONLY");
    const [first] = await session.getBlockHistory("memory", { key: "launch", scope: "project" });
    expect(first?.content).toBe("The launch, says the project.");
    await expectError(session.restoreBlock("memory", 1, { key: "launch", scope: "project" }), "BLOCK_READONLY");
    expect(
      (await session.getBlockHistory("memory", { key: "note", scope: "agent" })).map(({ author }) => author),
    ).toEqual(["model"]);
    await provider.set("note", "Answers in Dutch.", undefined, { scope: "agent" });
    await session.restoreBlock("memory", 1, { key: "note", scope: "agent" });
    expect((await provider.versions("note", { scope: "agent" }))[0]?.content).toBe("Answers in French.");
    expect((await provider.versions("note"))[0]?.content).toBe("Likes tea.");
  });

  it("lets a user write no project's facts unless allowed, by a tool or by learning", async ({ store }) => {
    const learned = async (declared: readonly EntryScopeOptions[], id: string) => {
      const provider = new AgentSearchProvider(store, { label: "facts", scopes: declared });
      const manager = SessionManager.create(store)
        .withContext("memory", { provider })
        .onLearning(async ({ messages, blocks }) =>
          blocks.map(({ label }) => {
            const messageIds = messages.map((each) => each.id);
            return { action: "add", label, key: "learned", content: `Learned in ${id}.`, messageIds } as const;
          }),
        )
        .forUser("ada");
      const session = manager.getSession(id);
      await session.appendMessage(message("m", "The launch is off."));
      await session.close();
      const tools = await session.tools();
      const place = { sessionId: "", scope: PROJECT, label: "facts" };
      return { entry: await store.entries.get(place, "learned"), names: Object.keys(tools) };
    };
    const both: EntryScopeOptions[] = [
      { scope: PROJECT, write: true },
      { scope: "user", write: true },
    ];
    expect((await learned([{ scope: PROJECT }], "a")).entry).toBe(null);
    expect((await learned([{ scope: PROJECT }], "a")).names).toEqual(["search_context"]);
    expect((await learned([{ scope: PROJECT }, { scope: "user", write: true }], "b")).entry).toBe(null);
    expect((await learned(both, "c")).entry).toBe(null);
    const mine = { sessionId: "", scope: "user", label: "facts" } as const;
    expect((await store.forUser("ada").entries.get(mine, "learned"))?.content).toBe("Learned in b.\nLearned in c.");
    expect((await learned([{ scope: PROJECT, write: true }], "d")).entry?.content).toBe("Learned in d.");
  });

  it("learns of a message beside what the model noted of it in another scope", async ({ store }) => {
    const provider = new AgentSearchProvider(store, { label: "facts", scopes: SCOPES });
    const manager = SessionManager.create(store)
      .withContext("facts", { provider })
      .onLearning(async () => [{ action: "add", label: "facts", key: "tea", content: "Likes tea.", messageIds: ["m"] }])
      .forUser("ada");
    const session = manager.getSession("main");
    await session.appendMessage(message("m", "I like tea, and answer me in French."));
    const { set_context } = await session.tools();
    await set_context?.execute({
      label: "facts",
      scope: "agent",
      content: "Answers in French.",
      metadata: { title: "fr" },
    });
    await session.close();
    const found = await provider.forSession("main").forUser("ada").list();
    expect(found.map(({ scope, key }) => `${scope} ${key}`)).toEqual(["user tea", "agent fr"]);
  });

  it("recalls from all scopes that a block declares, and names them", ["search"], async ({ store }) => {
    const { session, manager } = await world(store);
    await session.appendMessage(message("u1", "When is the launch of the rocket?"));
    const { recalled, messages } = await session.prepareTurn({ recall: {} });
    const names = (results: readonly { kind: string; scopeName?: string }[]) =>
      results.map((each) => (each.kind === "entry" ? each.scopeName : each.kind)).sort();
    expect(names(recalled.results)).toEqual(["project", "session", "user"]);
    const told = messages.at(-1)?.parts.at(-1)?.text ?? "";
    for (const name of ["project", "session", "user"])
      expect(told).toInclude(`> [remembered · memory · ${name}]\n> 20`);
    expect(told).toExclude("other");
    expect(names((await session.recall("When is the launch of the rocket?")).results)).toEqual([
      "project",
      "session",
      "user",
    ]);
    // Of no session in particular none has entries of its own.
    expect(names((await manager.recall("the launch")).results).filter((name) => name !== "message")).toEqual([
      "project",
      "user",
    ]);
  });

  it(
    "is known to the model by the label of its block, whatever label the store keeps it under",
    ["search"],
    async ({ store }) => {
      const { session, set, set_context, manager } = await world(store);
      const place = { sessionId: "", scope: "user", label: "kept" } as const;
      await store.forUser("ada").entries.set(place, { key: "rocket", content: "The rocket of the launch is red." });
      await session.addContext("things", {
        provider: new AgentSearchProvider(store, { scope: "user", label: "kept" }),
      });
      await session.appendMessage(message("u1", "When is the launch of the rocket?"));
      const { system, messages, tools } = await session.prepareTurn({ recall: {} });
      const long = { label: "memory", content: "x".repeat(150_000), metadata: { title: "note" } };
      const answers = [
        await set(undefined, "Likes tea."),
        await set("project", "x"),
        await set_context?.execute(long),
        await set_context?.execute({ ...long, action: "append" }),
      ];
      const told = JSON.stringify([system, messages, Object.values(tools).map((tool) => tool.description), answers]);
      for (const label of ["facts", "kept"]) expect(told).toExclude(label);
      expect(told).toInclude("[remembered · things]");
      expect(answers.at(-1) ?? "").toInclude('in "memory", which holds');
      for (const { results } of [await session.recall("the rocket"), await manager.recall("the launch")])
        for (const each of results)
          if (each.kind === "entry")
            expect(["memory facts", "things kept", "undefined kept"]).toInclude(`${each.block} ${each.label}`);
    },
  );

  it("lets the model say since when an entry is true, and what it supersedes", ["search"], async ({ store }) => {
    const { set, provider, set_context } = await world(store);
    await set(undefined, "Lives in Berlin.", { title: "Home Berlin", validFrom: "2023-04-01", tags: ["home"] });
    await provider.set("Home: Rome", "Has a flat in Rome.");
    const supersedes = ["Home Berlin", "Home: Rome"];
    const more = {
      validFrom: "2025-06-01",
      validTo: "2999-01-01",
      expiresAt: "2999-01-01",
      supersedes,
      tags: ["home"],
    };
    expect(await set(undefined, "Lives in Lisbon.", { title: "Home Lisbon", ...more })).toInclude("(user)");
    expect((await provider.list()).filter(({ scope }) => scope === "user").map(({ key }) => key)).toEqual([
      "home-lisbon",
      "launch",
    ]);
    const ended = (await provider.list({ includeEnded: true })).find(({ key }) => key === "home-berlin");
    expectParts(ended, { validTo: "2025-06-01T00:00:00.000Z", supersededBy: ["home-lisbon"], tags: ["home"] });
    expectParts(
      (await provider.list()).find(({ key }) => key === "home-lisbon"),
      {
        validFrom: "2025-06-01T00:00:00.000Z",
        validTo: "2999-01-01T00:00:00.000Z",
        expiresAt: "2999-01-01T00:00:00.000Z",
      },
    );
    // An empty list takes nothing away.
    await set(undefined, "Lives in Lisbon, Baixa.", { title: "Home Lisbon", supersedes: [], tags: [] });
    expectParts(
      (await provider.list()).find(({ key }) => key === "home-lisbon"),
      {
        supersedes: ["home-berlin", "Home: Rome"],
        tags: ["home"],
      },
    );
    // Wrong ones are refused, and nothing is written.
    for (const metadata of [
      { title: "x", validFrom: "soon" },
      { title: "x", validFrom: "2025-01-01", validTo: "2024-01-01" },
      { title: "x", supersedes: ["none"] },
      { title: "x", supersedes: ["x"] },
      { title: "x", supersedes: ["a\0b"] },
      { title: "x", tags: "{" },
    ])
      expect((await set(undefined, "x", metadata)).startsWith("Error:")).toBe(true);
    const append = { label: "memory", content: "x", action: "append", metadata: { title: "x", tags: ["a"] } };
    expect(await set_context?.execute(append)).toInclude("append adds text only");
    expect((await provider.list()).filter(({ key }) => key === "x")).toEqual([]);
    expect(await set(undefined, "y", { title: "Home Berlin" })).toInclude('superseded by "home-lisbon"');
  });

  it("undoes and rewinds nothing in a scope that is only read", async ({ store }) => {
    const scopes = [{ scope: PROJECT }, { scope: "session", name: "session" }, { scope: "user", write: true }] as const;
    const provider = new AgentSearchProvider(store, { label: "facts", scopes });
    const session = SessionManager.create(store).withContext("memory", { provider }).forUser("ada").getSession("main");
    const pause = () => new Promise((resolve) => setTimeout(resolve, 5));
    await session.appendMessage(message("u1", "Hello."));
    await pause();
    const origin = { author: "learning", sessionId: "main", messageIds: ["u1"] } as const;
    const { entries } = store.forUser("ada");
    const at = (scope: EntryScopeOptions["scope"]) => ({ sessionId: "main", scope, label: "facts" });
    for (const { scope } of scopes) await entries.set(at(scope), { key: "note", content: "Noted." }, { origin });
    await entries.set({ sessionId: "main", label: "others" }, { key: "note", content: "Noted." }, { origin });
    const noted = async () => (await Promise.all(scopes.map(({ scope }) => entries.count(at(scope))))).join(" ");
    const dry = await session.revertFrom("u1", { dryRun: true });
    const reverted = await session.revertFrom("u1");
    expect(reverted).toEqual(dry);
    expect(reverted.entries.map(({ owner, label, isUndone }) => [owner, label, isUndone])).toEqual([
      [PROJECT, "facts", false],
      [{ session: "main" }, "facts", false],
      [{ user: "ada" }, "facts", true],
      [{ session: "main" }, "others", true],
    ]);
    expect(await noted()).toBe("1 1 0");
    await session.setActiveLeaf("u1", { context: "as-of" });
    expect(await noted()).toBe("1 1 0");
    // Whoever names no scope that is only read rewinds them all.
    await store.session("main").rewindTo("u1");
    expect(await noted()).toBe("1 0 0");
  });
});
