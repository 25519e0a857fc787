import { claudeSessionStore } from "../../packages/stemma/src/claude.js";
import { Session, SessionManager, type Store } from "../../packages/stemma/src/index.js";
import { transcript, turn } from "./transcripts.js";

type Runner = Pick<typeof import("vitest"), "describe" | "it" | "expect">;

const title = (text: string) => ({ type: "custom-title", customTitle: text });

/** What the SDK's documents ask of a session store, and what ours adds, on a store. */
export function describeSessionStore(name: string, open: () => Store, { describe, it, expect }: Runner): void {
  let count = 0;
  /** Keys of a project that no other test has. */
  const project = () => {
    const projectKey = `-tmp-project-${++count}`;
    return (sessionId = "s1", subpath?: string) => ({ projectKey, sessionId, ...(subpath && { subpath }) });
  };

  describe(`transcripts of Claude on ${name}`, () => {
    it("gives entries back in the order in which they were appended, within a call and across calls", async () => {
      const store = claudeSessionStore(open());
      const key = project()();
      const { asked, note, thought, call, result, answer, timed } = turn("s1");
      const given = [title("A"), asked, note, thought, title("B"), call, result, answer, title("A"), timed];
      await store.append(key, given.slice(0, 4));
      await store.append(key, given.slice(4, 5));
      await store.append(key, given.slice(5));
      expect(await store.load(key)).toEqual(given);
    });

    it("gives back whatever an entry holds", async () => {
      const store = claudeSessionStore(open());
      const key = project()();
      const { user, assistant } = transcript("s1");
      const image = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo".repeat(400) };
      const contents = [
        ...["", "text", "\0 and \ud800", "日本語 👩‍👩‍👧", []],
        [
          { type: "text", text: "a" },
          { type: "text", text: "b", cache_control: { type: "ephemeral" } },
        ],
        [
          { type: "image", source: image },
          { type: "image", source: { type: "url", url: "https://x.test/a.png" } },
        ],
        [
          { type: "tool_use", id: "", name: "", input: null },
          { type: "tool_use", id: "t1", name: "Bash" },
        ],
        [{ type: "tool_result", tool_use_id: "t1", content: [{ type: "image", source: image }], is_error: true }],
        [{ type: "tool_result", tool_use_id: "t1" }, { type: "tool_result" }, { type: "thinking", thinking: "" }],
        [
          { type: "server_tool_use", id: "t2", name: "web_search", input: {} },
          { type: "dynamic-tool", state: "x" },
        ],
        [
          { type: "redacted_thinking", data: "x" },
          { type: "data-claude", data: { type: "text", text: "x" } },
        ],
        ...[null, 5, { text: "x" }, ["text"], [{ text: "no type" }]],
      ];
      const given = [
        ...contents.flatMap((content) => [user(null, content), assistant(null, content)]),
        { type: "user", uuid: crypto.randomUUID() },
        { type: "user", uuid: "", message: { role: "user", content: "x" } },
        { type: "user", uuid: "compaction_1", message: { role: "user", content: "x" }, parentUuid: "compaction_1" },
        {
          type: "assistant",
          message: { role: "assistant", content: "no uuid" },
          timestamp: "no time",
          $stemma: { a: 1 },
        },
        { ...user(null, "no time"), timestamp: "no time", nested: { __proto__: null, deep: [[[[null]]]] } },
      ];
      await store.append(key, given);
      expect(await store.load(key)).toEqual(JSON.parse(JSON.stringify(given)));
    });

    it("has null for what was never written, and an empty append writes nothing", async () => {
      const store = claudeSessionStore(open());
      const key = project();
      expect(await store.load(key())).toBe(null);
      await store.append(key(), []);
      expect(await store.load(key())).toBe(null);
      expect(await store.listSessions(key().projectKey)).toEqual([]);
      expect(await store.listSessionSummaries(key().projectKey)).toEqual([]);
      expect(await store.listSubkeys(key())).toEqual([]);
    });

    it("keeps projects, sessions and sub-agents apart, whatever their names are", async () => {
      const store = claudeSessionStore(open());
      const at = (projectKey: string, sessionId: string, subpath?: string) => ({
        projectKey: `${projectKey}${count}`,
        sessionId,
        ...(subpath !== undefined && { subpath }),
      });
      const keys = [
        ...[at("a", "b"), at("a", "b", "c"), at("a", "b/c"), at("a/b", "c"), at("a%2Fb", "c"), at("A", "b")],
        ...[at("a", "b", "subagents/agent-1"), at("a", "b%", "c"), at("日本", "é"), at("a", "b", "c/")],
      ];
      for (const [index, key] of keys.entries()) await store.append(key, [title(`${index}`)]);
      for (const [index, key] of keys.entries()) expect(await store.load(key)).toEqual([title(`${index}`)]);
      expect((await store.listSubkeys(at("a", "b"))).sort()).toEqual(["c", "c/", "subagents/agent-1"]);
      const ids = (await store.listSessions(`a${count}`)).map(({ sessionId }) => sessionId);
      expect(ids.sort()).toEqual(["b", "b/c"]);
    });

    it("refuses a key without its parts", async () => {
      const store = claudeSessionStore(open());
      for (const key of [
        { projectKey: "", sessionId: "s" },
        { projectKey: "p", sessionId: "" },
        { projectKey: "p", sessionId: "s", subpath: "" },
      ]) {
        await expect(store.append(key, [title("x")])).rejects.toThrow(
          expect.objectContaining({ code: "INVALID_ARGUMENT" }),
        );
      }
    });

    it("stores an entry with a uuid once, however often it comes, and one without each time", async () => {
      const store = claudeSessionStore(open());
      const key = project()();
      const all = Object.values(turn("s1"));
      const renamed = { ...title("A"), uuid: crypto.randomUUID() };
      await store.append(key, all.slice(0, 4));
      await store.append(key, [...all, renamed, ...all.slice(1, 2), renamed, title("B")]);
      await store.append(key, [...all, renamed]);
      await store.append(key, [title("B")]);
      expect(await store.load(key)).toEqual([...all, renamed, title("B"), title("B")]);
      const [summary] = await store.listSessionSummaries(key.projectKey);
      expect(summary?.data.customTitle).toBe("B");
    });

    it("lists sessions and their summaries with the time of their last append", async () => {
      const store = claudeSessionStore(open());
      const key = project();
      await store.append(key("s1"), Object.values(turn("s1", "Hello there")));
      await store.append(key("s2"), [title("Second")]);
      await store.append(key("s2", "subagents/agent-1"), [title("Sub")]);
      const { projectKey } = key();
      const before = new Map((await store.listSessions(projectKey)).map(({ sessionId, mtime }) => [sessionId, mtime]));
      expect([...before.keys()].sort()).toEqual(["s1", "s2"]);
      for (const mtime of before.values()) expect(Number.isInteger(mtime) && mtime > 1e12).toBe(true);
      while (Date.now() <= (before.get("s1") ?? 0)) await new Promise((resolve) => setTimeout(resolve, 2));
      await store.append(key("s1"), [title("First")]);
      const after = new Map((await store.listSessions(projectKey)).map(({ sessionId, mtime }) => [sessionId, mtime]));
      expect(after.get("s2")).toBe(before.get("s2"));
      expect(after.get("s1")).toBeGreaterThan(before.get("s1") ?? 0);
      const summaries = await store.listSessionSummaries(projectKey);
      expect(new Map(summaries.map(({ sessionId, mtime }) => [sessionId, mtime]))).toEqual(after);
      const data = Object.fromEntries(summaries.map((summary) => [summary.sessionId, summary.data]));
      expect(data).toMatchObject({
        s1: { firstPrompt: "Hello there", customTitle: "First" },
        s2: { customTitle: "Second" },
      });
    });

    it("deletes a session with its sub-agents, a sub-agent alone, and nothing that is not there", async () => {
      const store = claudeSessionStore(open());
      const key = project();
      const subs = ["subagents/agent-1", "subagents/agent-2"];
      for (const id of ["s1", "s2", "s10"]) await store.append(key(id), Object.values(turn(id)));
      for (const sub of subs) for (const id of ["s1", "s2"]) await store.append(key(id, sub), [title(sub)]);
      await store.delete(key("unknown"));
      await store.delete(key("s2", subs[0]));
      expect(await store.load(key("s2", subs[0]))).toBe(null);
      expect(await store.listSubkeys(key("s2"))).toEqual([subs[1]]);
      await store.delete(key("s1"));
      expect(await store.load(key("s1"))).toBe(null);
      expect(await store.load(key("s1", subs[0]))).toBe(null);
      expect(await store.listSubkeys(key("s1"))).toEqual([]);
      expect((await store.listSessions(key().projectKey)).map(({ sessionId }) => sessionId).sort()).toEqual([
        "s10",
        "s2",
      ]);
      expect((await store.load(key("s2")))?.length).toBe(7);
      await store.append(key("s1"), [title("again")]);
      expect(await store.load(key("s1"))).toEqual([title("again")]);
    });

    it("stores appends in the order of the calls, and all of those that meet", async () => {
      const host = open();
      const [one, two] = [claudeSessionStore(host), claudeSessionStore(host)];
      const key = project()();
      const mine = Array.from({ length: 20 }, (_, index) => title(`one ${index}`));
      const theirs = Array.from({ length: 20 }, (_, index) => title(`two ${index}`));
      await Promise.all([
        ...mine.map((entry) => one.append(key, [entry])),
        ...theirs.map((entry) => two.append(key, [entry])),
      ]);
      const all = await one.load(key);
      expect(all?.filter(({ customTitle }) => `${customTitle}`.startsWith("one"))).toEqual(mine);
      expect(all?.filter(({ customTitle }) => `${customTitle}`.startsWith("two"))).toEqual(theirs);
    });

    it("makes a session of it, in which branches show, text is found, and calls are pairs", async () => {
      const host = open();
      const store = claudeSessionStore(host);
      const key = project()("s1");
      const said = turn("s1");
      const { user, assistant } = transcript("s1");
      const edited = user(said.note.uuid, "Or rather: who wrote it?");
      const other = assistant(edited.uuid, [{ type: "text", text: "Nobody knows." }]);
      const lost = user("not here", "Where am I?");
      await store.append(key, [...Object.values(said), edited, other]);
      await store.append(key, [lost]);

      const session = Session.create(host).forSession(`claude/${key.projectKey}/s1`);
      expect((await session.getHistory()).map(({ id }) => id)).toEqual([lost.uuid]);
      const path = await session.getHistory(said.answer.uuid);
      expect(path.map(({ id, role }) => [id, role])).toEqual([
        [said.asked.uuid, "user"],
        [said.thought.uuid, "assistant"],
        [said.call.uuid, "assistant"],
        [said.result.uuid, "user"],
        [said.answer.uuid, "assistant"],
      ]);
      expect(path.map(({ parts }) => parts[0]?.type)).toEqual([
        "text",
        "reasoning",
        "dynamic-tool",
        "tool-result",
        "text",
      ]);
      expect((await session.getBranches(said.asked.uuid)).map(({ id }) => id)).toEqual([
        said.thought.uuid,
        edited.uuid,
      ]);
      expect((await session.search("kiwi")).map(({ id }) => id)).toEqual([said.answer.uuid]);
      const { name, source } = (await SessionManager.create(host).get(session.id)) ?? {};
      expect({ name, source }).toEqual({ name: "What is in the folder?", source: "claude" });
      expect(await store.load(key)).toEqual([...Object.values(said), edited, other, lost]);
    });

    it("belongs to the user whose store it is on", async () => {
      const host = open();
      const [ada, bob] = [claudeSessionStore(host.forUser("ada")), claudeSessionStore(host.forUser("bob"))];
      const key = project()();
      await ada.append(key, [title("Ada's")]);
      expect(await bob.listSessions(key.projectKey)).toEqual([]);
      await expect(bob.load(key)).rejects.toThrow(expect.objectContaining({ code: "SESSION_OWNED" }));
      expect(await ada.listSessions(key.projectKey)).toHaveLength(1);
    });
  });
}
