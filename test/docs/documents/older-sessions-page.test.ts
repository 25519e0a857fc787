// The samples of the older translation of the page "Sessions" that differ from the page as it is now, one test each, as
// they stand there but for import specifiers and what `Agent` and `this` are: it awaits only some calls. Nothing is
// awaited between two calls of a sample that the page does not await; what a sample leaves behind is awaited after it.
import { describe, expect, it } from "vitest";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { createCompactFunction } from "../../../packages/stemma/src/utils/compaction-helpers.js";
import { Agent } from "../../documents/host.js";
import { textMessage } from "../../helpers/messages.js";

const myCompactFn = createCompactFunction({ summarize: async () => "A summary of the middle.", tailTokenBudget: 10 });

async function conversation(session: Session, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1)
    await session.appendMessage(textMessage(`msg-${n}`, `message ${n} on deployment Friday`));
}

const idsOf = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

describe("Quick start of the older page", () => {
  class MyAgent extends Agent {
    session = Session.create(this)
      .withContext("soul", {
        provider: { get: async () => "You are a helpful assistant." },
      })
      .withContext("memory", {
        description: "Learned facts about the user",
        maxTokens: 1100,
      })
      .withCachedPrompt();

    async onMessage(message: unknown) {
      await this.session.appendMessage(message);
      const history = this.session.getHistory();
      const system = await this.session.freezeSystemPrompt();
      const tools = await this.session.tools();
      // Pass history, system prompt, and tools to your LLM
      return { history: await history, system, tools };
    }
  }

  it("gives history, prompt and tools", async () => {
    const { history, system, tools } = await new MyAgent().onMessage(textMessage("u1", "Hello"));
    expect(history).toEqual([textMessage("u1", "Hello")]);
    expect(system).toContain("You are a helpful assistant.");
    expect(Object.keys(tools)).toEqual(["set_context"]);
  });
});

describe("Messages of the older page", () => {
  it("are appended, updated, deleted and cleared, in that order", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 3);
    const parentId = "msg-1";
    let message = textMessage("new", "one");
    // Append — auto-parents to the latest leaf unless parentId is specified
    await session.appendMessage(message);
    message = textMessage("branch", "two");
    await session.appendMessage(message, parentId);

    // Update an existing message (matched by message.id)
    session.updateMessage(message);

    // Delete specific messages
    session.deleteMessages(["msg-1", "msg-2"]);
    const left = session.getTree();

    // Clear all messages and skill state
    session.clearMessages();

    expect(idsOf(await left)).toEqual(["msg-3", "new", "branch"]);
    expect(await session.getHistory()).toEqual([]);
  });

  it("stay when they are appended after a clear that nobody awaits", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 3);
    session.clearMessages();
    await session.appendMessage(textMessage("new", "after"));
    expect(idsOf(await session.getHistory())).toEqual(["new"]);
  });

  it("are read", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 3);
    const leafId = "msg-2";
    // Linear history from root to the latest leaf
    const messages = session.getHistory();

    // History to a specific leaf (for branching)
    const branch = session.getHistory(leafId);

    // Get a single message
    const msg = session.getMessage("msg-1");

    // Get the newest message
    const latest = session.getLatestLeaf();

    // Count messages in path
    const count = session.getPathLength();

    expect(idsOf(await messages)).toEqual(["msg-1", "msg-2", "msg-3"]);
    expect(idsOf(await branch)).toEqual(["msg-1", "msg-2"]);
    expect([(await msg)?.id, (await latest)?.id, await count]).toEqual(["msg-1", "msg-3", 3]);
  });

  it("branch, and are searched", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 2);
    await session.appendMessage(textMessage("again", "another answer"), "msg-1");
    const messageId = "msg-1";
    // Get all child messages that branch from messageId
    const branches = session.getBranches(messageId);

    const results = session.search("deployment Friday", { limit: 10 });
    // Returns: Array<{ id, role, content, createdAt? }>

    expect(idsOf(await branches)).toEqual(["msg-2", "again"]);
    expect(idsOf(await results).sort()).toEqual(["msg-1", "msg-2"]);
  });

  it("are compacted by hand", async () => {
    const session = Session.create(new Agent()).onCompaction(myCompactFn);
    await conversation(session, 60);
    const result = await session.compact();

    // Or manage overlays directly
    session.addCompaction("Summary of messages 1-50", "msg-1", "msg-50");
    const overlays = session.getCompactions();

    expect(result).toMatchObject({ fromMessageId: "msg-4" });
    expect((await overlays).map(({ summary }) => summary)).toEqual([
      "A summary of the middle.",
      "Summary of messages 1-50",
    ]);
  });
});

describe("SessionManager of the older page", () => {
  const createManager = () => SessionManager.create(new Agent()).withContext("memory").withCachedPrompt();

  it("creates, gets, lists, renames and deletes, in that order", async () => {
    const manager = createManager();
    // Create a new session
    const info = manager.create("My Chat");

    // Create with metadata
    const info2 = manager.create("My Chat", {
      parentSessionId: "parent-id",
      model: "claude-sonnet-4-20250514",
      source: "web",
    });
    const sessionId = (await info).id;
    await manager.append(sessionId, textMessage("m", "words"));

    // Get session metadata (null if not found)
    const session = manager.get(sessionId);

    // List all sessions (ordered by updated_at DESC)
    const sessions = manager.list();

    // Rename
    manager.rename(sessionId, "New Name");
    const renamed = manager.get(sessionId);

    // Delete (clears messages too)
    manager.delete(sessionId);

    expect(await manager.get(sessionId)).toBe(null);
    expect(await manager.getHistory(sessionId)).toEqual([]);
    expect([(await session)?.name, (await renamed)?.name]).toEqual(["My Chat", "New Name"]);
    expect(idsOf(await sessions).sort()).toEqual([sessionId, (await info2).id].sort());
  });

  it("has the messages' convenience methods, whose calls keep their order", async () => {
    const manager = createManager();
    const { id: sessionId } = await manager.create("My Chat");
    await conversation(manager.getSession(sessionId), 3);
    const [parentId, leafId] = ["msg-1", "new"];
    const message = textMessage("new", "one");
    const messages = [textMessage("a", "two"), textMessage("b", "three")];
    // Append a single message
    await manager.append(sessionId, message, parentId);

    // Add or update (upsert)
    await manager.upsert(sessionId, message, parentId);

    // Batch append (auto-chains parent IDs)
    await manager.appendAll(sessionId, messages, parentId);

    // Read history
    const history = manager.getHistory(sessionId, leafId);

    // Message count
    const count = manager.getMessageCount(sessionId);

    // Clear messages
    manager.clearMessages(sessionId);

    // Delete specific messages
    manager.deleteMessages(sessionId, ["msg-1"]);

    expect(idsOf(await history)).toEqual(["msg-1", "new"]);
    expect(await count).toBe(3);
    expect(await manager.getMessageCount(sessionId)).toBe(0);
  });

  it("tracks usage, and searches across sessions", async () => {
    const manager = createManager();
    const { id: sessionId } = await manager.create("My Chat");
    await conversation(manager.getSession(sessionId), 1);
    const [inputTokens, outputTokens, cost] = [100, 20, 0.01];
    manager.addUsage(sessionId, inputTokens, outputTokens, cost);

    // Search across all sessions (FTS5)
    const results = manager.search("deployment Friday", { limit: 20 });

    // Get tools for the model (includes session_search)
    const tools = manager.tools();

    expect(await manager.get(sessionId)).toMatchObject({ input_tokens: 100, output_tokens: 20, estimated_cost: 0.01 });
    expect(idsOf(await results)).toEqual(["msg-1"]);
    expect(Object.keys(await tools)).toEqual(["session_search"]);
  });
});
