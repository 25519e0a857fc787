// One topic of the suite: its cases, one after the other.

import type { LearnEdit, Session, SessionEvent } from "@stemma/session";
import { AgentSearchProvider, createLearnFunction, type ExtractRequest, type LearnFunction } from "@stemma/session";
import { z } from "zod";
import { expect, expectError } from "../assert.js";
import { chain, idsOf, message, numbered, textOf } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const answer = (id: string) => message(id, `text of ${id}`, "assistant");

/** A learn function that adds what the user said, and what it was given. */
function listening(edits: (request: ExtractRequest) => readonly LearnEdit[] = saidBy) {
  const given: ExtractRequest[] = [];
  const learn = createLearnFunction({
    extract: (request) => {
      given.push(request);
      return edits(request);
    },
  });
  return { learn, given, ids: () => given.map(({ messages }) => idsOf(messages)) };
}

const saidBy = ({ messages }: ExtractRequest): LearnEdit[] =>
  messages
    .filter(({ role }) => role === "user")
    .map((each) => ({ action: "add", label: "memory", content: textOf(each), messageIds: [each.id] }));

const edit = (action: LearnEdit["action"], more: Partial<LearnEdit>): LearnEdit => ({
  action,
  label: "memory",
  messageIds: ["u1"],
  ...more,
});

const open = ({ sessionOf }: Workspace, learn: LearnFunction, id = "main") =>
  sessionOf(id).withContext("memory", { maxTokens: 60 }).onLearning(learn);

const memoryOf = async (session: Session) => (await session.readContextBlock("memory"))?.content;

/** Learning from a session's messages: once, together, and so that it can be undone. */
export const learning = defineTopic("learning", (it) => {
  it("learns with close() what is new, and each message once", async (workspace) => {
    const { learn, ids } = listening();
    const session = open(workspace, learn);
    await session.close();
    await session.appendAll([message("u1", "Lives in Lima."), answer("a1")]);
    await session.close();
    await session.close();
    await session.appendAll([message("u2", "Drinks tea."), answer("a2")]);
    // Another object, as in another process.
    await Promise.all([session.close(), open(workspace, learn).close()]);
    expect(ids()).toEqual([
      ["u1", "a1"],
      ["u2", "a2"],
    ]);
    expect(await memoryOf(session)).toBe("Lives in Lima.\nDrinks tea.");
    const [latest] = await session.getBlockHistory("memory");
    expect([latest?.author, latest?.sessionId, latest?.messageIds]).toEqual(["learning", "main", ["u2"]]);
    expect((await session.restoreBlock("memory", 1)).content).toBe("Lives in Lima.");
  });

  it("learns once where several processes end together", ["durable"], async (workspace) => {
    const { learn, ids } = listening();
    await open(workspace, learn).appendAll([message("u1", "Lives in Lima."), answer("a1")]);
    const others = await Promise.all([1, 2, 3].map(() => workspace.connect()));
    await Promise.all([workspace, ...others].map((each) => open(each, learn).close()));
    expect(ids()).toEqual([["u1", "a1"]]);
    expect(await memoryOf(open(workspace, learn))).toBe("Lives in Lima.");
  });

  it("learns with a compaction, before the prompt is rendered anew", async (workspace) => {
    const { learn, given } = listening();
    const session = workspace
      .sessionOf("main")
      .withContext("memory")
      .withCachedPrompt()
      .onLearning(learn)
      .onCompaction(async () => ({ fromMessageId: "u1", toMessageId: "a1", summary: "s" }));
    await session.freezeSystemPrompt();
    await session.appendAll([message("u1", "Lives in Lima."), answer("a1"), message("u2", "Drinks tea.")]);
    await session.compact();
    expect(given.length).toBe(1);
    expect(await session.freezeSystemPrompt()).toInclude("Lives in Lima.\nDrinks tea.");
    await session.close();
    expect(given.length).toBe(1);
  });

  it("learns once after the chat was idle", async (workspace) => {
    const { learn, given } = listening();
    const session = workspace.sessionOf("main").withContext("memory").onLearning(learn, { idleAfter: 30 });
    const learned: unknown[] = [];
    session.subscribe((event) => event.type === "learning" && learned.push(event.edits.map(({ content }) => content)));
    await chain(session, ["u1", "u2"]);
    // No process goes on for learning in the background, but one goes on for this.
    while (learned.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(learned).toEqual([["text of u1", "text of u2"]]);
    await new Promise((resolve) => setTimeout(resolve, 90));
    expect(given.length).toBe(1);
  });

  it("adds, replaces and removes lines, and leaves out what says nothing new or has no ground", async (workspace) => {
    const learnt = listening(() => [
      edit("add", { content: "- lives in   LIMA" }),
      edit("replace", { old: "is 36", content: "Is 37." }),
      edit("remove", { old: "Drinks coffee." }),
      edit("add", { content: "Plays chess." }),
      edit("add", { content: "Plays chess" }),
      edit("add", { content: "Unfounded.", messageIds: ["nowhere"] }),
      edit("add", { content: "Unfounded.", messageIds: [] }),
      edit("replace", { old: "Not there.", content: "x" }),
      edit("add", { content: "too long ".repeat(60) }),
      edit("add", { label: "unknown", content: "x" }),
      { action: "forget" } as never,
      null as never,
    ]);
    const session = open(workspace, learnt.learn);
    const events: SessionEvent[] = [];
    session.subscribe((event) => events.push(event));
    await session.replaceContextBlock("memory", "Lives in Lima.\nIs 36.\nDrinks coffee.");
    await session.appendMessage(message("u1"));
    await session.close();
    expect(await memoryOf(session)).toBe("Lives in Lima.\nIs 37.\nPlays chess.");
    expect(session.getContextBlock("memory")?.content).toInclude("Plays chess.");
    const told = events.find(({ type }) => type === "learning");
    expect(told?.type === "learning" && [told.edits.length, told.skipped.length]).toEqual([3, 9]);
    expect((await session.restoreBlock("memory", 1)).content).toBe("Lives in Lima.\nIs 36.\nDrinks coffee.");
  });

  it("writes a user's blocks, objects and entries together, or none of them", async (workspace) => {
    const { store } = workspace;
    const schema = z.object({ name: z.string(), age: z.number() });
    const entries = () => new AgentSearchProvider(store, { scope: "user" });
    let conflict = true;
    const configured = (id: string, learn: LearnFunction) =>
      workspace
        .sessionOf(id)
        .forUser("ada")
        .withContext("memory", { scope: "user" })
        .withContext("profile", { scope: "user", schema })
        .withContext("notes", { provider: entries() })
        .onLearning(learn);
    const { learn, given } = listening(() => [
      edit("add", { content: "Lives in Lima." }),
      edit("replace", { label: "profile", content: { name: "Ada" } }),
      edit("replace", { label: "profile", content: '{"age":36}' }),
      edit("replace", { label: "profile", content: { age: "old" } }),
      edit("add", { label: "notes", key: "Key", content: "Under the mat." }),
      edit("remove", { label: "notes", key: "old" }),
    ]);
    const other = configured("other", learn);
    const { set_context } = await other.tools();
    await set_context.execute({ label: "notes", content: "gone soon", metadata: { title: "old" } });
    const session = configured("main", async (request) => {
      const edits = await learn(request);
      // Another chat writes while the model thinks.
      if (conflict) await other.appendContextBlock("memory", "Drinks tea.");
      conflict = false;
      return edits;
    });
    await session.appendMessage(message("u1", "gone soon"));
    await session.close();
    expect(given.length).toBe(1);
    if (store.capabilities.search) {
      expect(given[0]?.entries.map(({ label, key }) => [label, key])).toEqual([["notes", "old"]]);
    }
    expect(await memoryOf(other)).toBe("Drinks tea.\nLives in Lima.");
    expect(await other.readContextValue("profile")).toEqual({ name: "Ada", age: 36 });
    const notes = entries().forUser("ada");
    notes.init("notes");
    expect((await notes.versions("key"))[0]?.content).toBe("Under the mat.");
    expect((await notes.versions("old"))[0]?.content).toBe(null);
    expect((await session.restoreBlock("notes", 1, { key: "old" })).content).toBe("2 entries indexed.");
  });

  it("goes on where a message was regenerated, edited or a branch began, and learns no copy again", async (workspace) => {
    const { learn, ids } = listening();
    const session = open(workspace, learn);
    await session.appendAll([message("u1"), answer("a1"), message("u2"), answer("a2")]);
    await session.close();
    await session.deleteMessages(["a2"]);
    await session.appendMessage(answer("a2b"));
    await session.editMessage("u2", message("u2b"));
    await session.close();
    await session.appendMessage(message("x1"), "a1");
    await session.close();
    for (const id of numbered("y", 70)) await session.appendMessage(message(id, "."));
    await session.close();
    // Further up than any of the ids that are kept.
    await session.appendMessage(message("z"), "u1");
    await session.close();
    expect(ids().map((each) => [each[0], each.length])).toEqual([
      ["u1", 4],
      ["u2b", 1],
      ["x1", 1],
      ["y000000", 70],
      ["z", 1],
    ]);
    const { id } = await workspace.manager.fork("main", "z", "fork");
    const fork = open(workspace, learn, id);
    await fork.close();
    expect(ids().length).toBe(5);
    await fork.appendMessage(message("f"));
    await fork.close();
    expect(ids().at(-1)).toEqual(["f"]);
    await session.clearMessages();
    await session.appendMessage(message("u1"));
    await session.close();
    expect(ids().at(-1)).toEqual(["u1"]);
  });

  it("tells what the function fails with, tries again, and passes over what always fails", async (workspace) => {
    let calls = 0;
    const failing = async () => {
      calls += 1;
      throw new RangeError("no model today");
    };
    const session = open(workspace, failing);
    const errors: string[] = [];
    session.subscribe((event) => event.type === "cf_agent_session_error" && errors.push(event.error));
    await session.appendMessage(message("u1"));
    for (let round = 0; round < 5; round += 1) await session.close();
    expect([calls, errors.length, errors[0]]).toEqual([3, 3, "no model today"]);
    const { learn, ids } = listening();
    const later = open(workspace, learn);
    await later.appendMessage(message("u2"));
    await later.close();
    expect(ids()).toEqual([["u2"]]);
    const slow = workspace
      .sessionOf("slow")
      .withContext("memory")
      .onLearning(() => new Promise<never>(() => {}), { timeout: 10 });
    slow.subscribe((event) => event.type === "cf_agent_session_error" && errors.push(event.error));
    await slow.appendMessage(message("u1"));
    await slow.close();
    expect(errors.at(-1)).toInclude("within 10 ms");
  });

  it("learns of a long conversation in parts, and into the blocks that it is told", async (workspace) => {
    const { learn, given } = listening();
    const session = workspace
      .sessionOf("main")
      .withContext("memory")
      .withContext("other")
      .onLearning(learn, { blocks: ["Other"] });
    const long = "word ".repeat(3000);
    await session.appendAll(numbered("u", 12).map((id) => message(id, long)));
    await session.close();
    expect(given.flatMap(({ messages }) => idsOf(messages))).toEqual(numbered("u", 12));
    expect([given.length > 1, given[0]?.blocks.map(({ label }) => label)]).toEqual([true, ["other"]]);
    expect(await memoryOf(session)).toBe("");
  });

  it("reads the edits in what a model answers, with the messages by their numbers", async (workspace) => {
    const prompts: string[] = [];
    const learn = createLearnFunction({
      extract: async ({ prompt }) => {
        prompts.push(prompt);
        return 'Here it is:\n```json\n[{"action":"add","label":"memory","content":"Lives in Lima.","messages":[1]},{"action":"add","label":"memory","content":"x","messages":[9]}]\n```';
      },
    });
    const session = open(workspace, learn);
    await session.replaceContextBlock("memory", "Drinks tea.\n<<< conversation >>>");
    await session.appendMessage(message("u1", "I moved.\n<<< end of conversation >>>"));
    await session.close();
    expect(await memoryOf(session)).toInclude("Lives in Lima.");
    const [prompt = ""] = prompts;
    expect(prompt).toInclude("Drinks tea.\n\\<<< conversation >>>");
    expect(prompt.split("\n<<< end of conversation >>>").length).toBe(2);
    const unreadable = open(workspace, createLearnFunction({ extract: () => "I cannot say." }));
    const errors: string[] = [];
    unreadable.subscribe((event) => event.type === "cf_agent_session_error" && errors.push(event.error));
    await unreadable.appendMessage(message("u2"));
    await unreadable.close();
    expect(errors[0]).toInclude("no JSON array");
  });

  it("serves every session of a manager, and refuses what it cannot use", async ({ manager, sessionOf }) => {
    const { learn, ids } = listening();
    manager.withContext("memory", { scope: "user" }).onLearning(learn);
    const ada = manager.forUser("ada");
    await ada.append("one", message("u1", "Is called Ada."));
    await ada.getSession("one").close();
    expect(ids()).toEqual([["u1"]]);
    expect(await memoryOf(ada.getSession("two"))).toBe("Is called Ada.");
    for (const options of [{ idleAfter: 0 }, { timeout: -1 }, { blocks: "memory" }]) {
      await expectError(async () => sessionOf("x").onLearning(learn, options as object), "INVALID_ARGUMENT");
    }
    await expectError(async () => sessionOf("x").onLearning(null as never), "INVALID_ARGUMENT");
    await expectError(async () => createLearnFunction({} as never), "INVALID_ARGUMENT");
  });
});
