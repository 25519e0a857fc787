import type { Session } from "@stemma/session";
import { AgentSearchProvider } from "@stemma/session";
import { expect } from "../assert.js";
import { chain, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

/** The generated tools, as far as they read and write the store. */
export const tools = defineTopic("tools", (it) => {
  it("offers the tools that the present blocks call for", async ({ store, sessionOf }) => {
    const names = async (session: Session) => Object.keys(await session.tools()).sort();
    const soul = { get: async () => "kind" };
    expect(await names(sessionOf("s"))).toEqual([]);
    expect(await names(sessionOf("s").withContext("soul", { provider: soul }))).toEqual([]);
    expect(await names(sessionOf("s").withContext("memory"))).toEqual(["set_context"]);
    expect(await names(sessionOf("s").withContext("skills", { provider: skills() }))).toEqual([
      "load_context",
      "unload_context",
    ]);
    const search = sessionOf("s").withContext("facts", { provider: new AgentSearchProvider(store) });
    expect(await names(search)).toEqual(["search_context", "set_context"]);
  });

  it("adds expand_summary only where it was asked for", async ({ sessionOf }) => {
    const session = sessionOf("s").withExpandableSummaries();
    await chain(session, ["a", "b", "c"]);
    const { id } = await session.addCompaction("summary", "a", "b");
    const { expand_summary, ...others } = await session.tools();
    expect(Object.keys(others)).toEqual([]);
    const answers = [];
    for (const given of [id, `compaction_${id}`]) answers.push(await expand_summary?.execute({ id: given }));
    for (const answer of answers) for (const text of ["text of a", "text of b"]) expect(answer).toInclude(text);
    expect(answers[0]).toExclude("text of c");
    expect((await expand_summary?.execute({ id: "unknown" }))?.startsWith("Error:")).toBe(true);
  });

  it("lets the host unload a document, and tells which are loaded", async ({ sessionOf }) => {
    const open = () => sessionOf("s").withContext("skills", { provider: { get: () => "- a", load: (key) => key } });
    const session = open();
    const { load_context } = await session.tools();
    for (const key of ["a", "b"]) await load_context.execute({ label: "skills", key }, { toolCallId: key });
    expect(await open().getLoadedSkillKeys()).toEqual(new Set(["skills:a", "skills:b"]));
    expect(await session.unloadSkill("skills", "a")).toBe(true);
    expect(await session.unloadSkill("skills", "a")).toBe(false);
    expect(await session.unloadSkill("unknown", "a")).toBe(false);
    expect([...(await session.getLoadedSkillKeys())]).toEqual(["skills:b"]);
  });

  it("lets set_context replace and append to a block", async ({ sessionOf }) => {
    const session = sessionOf("s").withContext("memory", { maxTokens: 20 });
    const { set_context } = await session.tools();
    await set_context?.execute({ label: "memory", content: "one" });
    await set_context?.execute({ label: "MEMORY", content: "two", action: "append" });
    expect(session.getContextBlock("memory")?.content).toBe("one\ntwo");
    await set_context?.execute({ label: "memory", content: "three", action: "replace" });
    expect(session.getContextBlock("memory")?.content).toBe("three");
    for (const input of [
      { label: "memory", content: "x".repeat(200) },
      { label: "unknown", content: "x" },
      { label: "memory" },
      { content: "x" },
      { label: "memory", content: "a\0b" },
      null,
    ]) {
      const answer = await set_context?.execute(input);
      expect(answer?.startsWith("Error:")).toBe(true);
    }
    expect(session.getContextBlock("memory")?.content).toBe("three");
  });

  it(
    "keeps entries whose titles differ apart, and updates the one with the same title",
    ["search"],
    async (workspace) => {
      const titles = ["C++ tips", "C# tips", "c tips", "日本語", "日本", "🎉", "a/b", "a b"];
      const provider = new AgentSearchProvider(workspace.store, "facts");
      const session = workspace.sessionOf("").withContext("facts", { provider });
      const { set_context } = await session.tools();
      for (const title of titles) {
        const answer = await set_context?.execute({ label: "facts", content: `about ${title}`, metadata: { title } });
        expect(answer?.startsWith("Error:")).toBe(false);
      }
      expect(await provider.get()).toBe(`${titles.length} entries indexed.`);
      await set_context?.execute({ label: "facts", content: "updated", metadata: { title: "C++ tips" } });
      expect(await provider.get()).toBe(`${titles.length} entries indexed.`);
      expect(await provider.search("updated")).toInclude("updated");
    },
  );

  it("keeps tool definitions the same while contents change and skills are loaded", async ({ store, sessionOf }) => {
    const session = sessionOf("s")
      .withContext("memory")
      .withContext("facts", { provider: new AgentSearchProvider(store) })
      .withContext("skills", { provider: skills() });
    const definitions = async () =>
      Object.entries(await session.tools()).map(([name, { description }]) => [name, description]);
    const before = await definitions();
    const { load_context, set_context } = await session.tools();
    await load_context?.execute({ label: "skills", key: "deploy" }, { toolCallId: "1" });
    await set_context?.execute({ label: "memory", content: "new" });
    await set_context?.execute({ label: "facts", content: "new", metadata: { title: "t" } });
    expect(await definitions()).toEqual(before);
    await session.addContext("more");
    expect((await definitions())[0]?.[1] === before[0]?.[1]).toBe(false);
  });

  it("takes unloaded documents out of what the model sees, and nothing else", async (workspace) => {
    const session = skilled(workspace);
    await loadAndAppend(session, "call-1", "m1");
    expect(await session.getHistory()).toEqual([loadMessage("m1", "call-1")]);
    const { unload_context } = await session.tools();
    const answer = await unload_context?.execute({ label: "skills", key: "deploy" });
    expect(answer?.startsWith("Error:")).toBe(false);
    const shown = JSON.stringify(await session.getHistory());
    expect(shown).toExclude(DOCUMENT);
    expect(shown).toInclude("call-1");
    expect(await session.getMessage("m1")).toEqual(loadMessage("m1", "call-1"));
    expect((await unload_context?.execute({ label: "skills", key: "deploy" }))?.startsWith("Error:")).toBe(true);
    await loadAndAppend(session, "call-2", "m2");
    const [first, second] = await session.getHistory();
    expect(JSON.stringify(first)).toExclude(DOCUMENT);
    expect(second).toEqual(loadMessage("m2", "call-2"));
  });

  it("unloads a document that the history holds, whoever loaded it", async (workspace) => {
    const session = skilled(workspace);
    const unload = async () =>
      (await session.tools()).unload_context?.execute({ label: "skills", key: "deploy" }, { toolCallId: "x" });
    expect(await unload()).toInclude("is not loaded");
    const input = { label: "skills", key: "deploy" };
    const call = { type: "tool-call", toolCallId: "call-2", toolName: "load_context", input };
    await session.appendAll([
      loadMessage("m1", "call-1"),
      { id: "m2", role: "assistant", parts: [call] },
      { id: "m3", role: "tool", parts: [{ type: "tool-result", toolCallId: "call-2", output: DOCUMENT }] },
    ]);
    expect(await unload()).toInclude("Unloaded deploy");
    expect(JSON.stringify(await session.getHistory())).toExclude(DOCUMENT);
    expect(await unload()).toInclude("is not loaded");
  });

  it("remembers what was unloaded across a restart", ["durable"], async (workspace) => {
    const session = skilled(workspace);
    await loadAndAppend(session, "call-1", "m1");
    await (await session.tools()).unload_context?.execute({ label: "skills", key: "deploy" });
    const again = skilled(await workspace.restart());
    expect(JSON.stringify(await again.getHistory())).toExclude(DOCUMENT);
    for await (const each of again.history()) expect(JSON.stringify(each)).toExclude(DOCUMENT);
    expect(JSON.stringify(await again.getRecentHistory(1_000_000))).toExclude(DOCUMENT);
  });

  it("keeps what was unloaded out of a fork too", async (workspace) => {
    const session = skilled(workspace);
    // A host need not say which call loaded it: then its place in the history tells.
    const { load_context, unload_context } = await session.tools();
    await load_context?.execute({ label: "skills", key: "deploy" });
    await session.appendMessage(loadMessage("m1", "call-1"));
    await unload_context?.execute({ label: "skills", key: "deploy" });
    await session.appendMessage(message("m2"));
    const fork = await workspace.manager.fork("s", "m2", "fork");
    const forked = workspace.sessionOf(fork.id).withContext("skills", { provider: skills() });
    expect(JSON.stringify(await forked.getHistory())).toExclude(DOCUMENT);
    await (await forked.tools()).load_context?.execute({ label: "skills", key: "deploy" });
    await forked.appendMessage(loadMessage("m3", "call-3"));
    const [first, , third] = await forked.getHistory();
    expect(JSON.stringify(first)).toExclude(DOCUMENT);
    expect(third).toEqual(loadMessage("m3", "call-3"));
  });

  it("answers load_context with the whole document, also under the older name block", async (workspace) => {
    const session = skilled(workspace);
    const { load_context } = await session.tools();
    expect(await load_context?.execute({ label: "skills", key: "deploy" })).toInclude(DOCUMENT);
    expect(await load_context?.execute({ block: "skills", key: "deploy" })).toInclude(DOCUMENT);
    expect(await load_context?.execute({ label: "skills", key: "none" })).toInclude("Not found: none");
  });
});

const DOCUMENT = "the whole text of the document";

function skills() {
  return {
    get: async () => "- deploy: how to ship",
    load: async (key: string) => (key === "deploy" ? DOCUMENT : null),
  };
}

function skilled({ sessionOf }: Pick<Workspace, "sessionOf">): Session {
  return sessionOf("s").withContext("skills", { provider: skills() });
}

async function loadAndAppend(session: Session, toolCallId: string, id: string): Promise<void> {
  await (await session.tools()).load_context?.execute({ label: "skills", key: "deploy" }, { toolCallId });
  await session.appendMessage(loadMessage(id, toolCallId));
}

function loadMessage(id: string, toolCallId: string) {
  const input = { label: "skills", key: "deploy" };
  const part = { type: "tool-load_context", toolCallId, state: "output-available", input, output: DOCUMENT };
  return { id, role: "assistant", parts: [part] };
}
