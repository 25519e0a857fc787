// The samples of the page "Sessions", one test each, as they stand there but for import specifiers and what `Agent` and
// `this` are. An older translation of the page has two more that are here as well or on the page "Memory": a storage whose
// methods are synchronous, and a compaction that is set up without a counter. What else differs there is in
// `older-sessions-page.test.ts`.
import { generateText } from "ai";
import { describe, expect, it } from "vitest";
import {
  AgentContextProvider,
  AgentSearchProvider,
  AgentSessionProvider,
  type ContextProvider,
  R2SkillProvider,
  type SearchProvider,
  Session,
  SessionManager,
  type SessionMessage,
  type SessionProvider,
  type SkillProvider,
  type WritableContextProvider,
} from "../../../packages/stemma/src/session.js";
import { createCompactFunction } from "../../../packages/stemma/src/utils/compaction-helpers.js";
import { Agent, Bucket, modelThatSays } from "../../documents/host.js";
import { textMessage } from "../../helpers/messages.js";

const myCompactFn = createCompactFunction({ summarize: async () => "A summary of the middle.", tailTokenBudget: 10 });
const estimateWithYourTokenizer = ({ messages }: { messages: SessionMessage[]; [more: string]: unknown }) =>
  JSON.stringify(messages).length / 4;

async function conversation(session: Session, count: number): Promise<void> {
  for (let n = 1; n <= count; n += 1) {
    await session.appendMessage(
      textMessage(`msg-${n}`, `message number ${n} about the deployment on Friday`, n % 2 ? "user" : "assistant"),
    );
  }
}

describe("Quick start", () => {
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
      const history = await this.session.getHistory();
      const system = await this.session.freezeSystemPrompt();
      const tools = await this.session.tools();
      // Pass history, system prompt, and tools to your LLM
      return { history, system, tools };
    }
  }

  it("gives history, prompt and tools", async () => {
    const { history, system, tools } = await new MyAgent().onMessage(textMessage("u1", "Hello"));
    expect(history).toEqual([textMessage("u1", "Hello")]);
    expect(system).toContain("SOUL [readonly]");
    expect(system).toContain("MEMORY (Learned facts about the user) [0% — 0/1100 tokens] [writable]");
    expect(Object.keys(tools)).toEqual(["set_context"]);
  });
});

describe("Creating a session", () => {
  it("with the builder", async () => {
    class Host extends Agent {
      create() {
        const session = Session.create(this)
          .withContext("soul", { provider: { get: async () => "You are helpful." } })
          .withContext("memory", { description: "Learned facts", maxTokens: 1100 })
          .withCachedPrompt()
          .onCompaction(myCompactFn)
          .compactAfter(100_000);
        return session;
      }
    }
    expect(await new Host().create().freezeSystemPrompt()).toContain("You are helpful.");
  });

  it("with the direct constructor", async () => {
    class Host extends Agent {
      create() {
        const session = new Session(new AgentSessionProvider(this), {
          context: [
            {
              label: "memory",
              description: "Notes",
              maxTokens: 500,
              provider: new AgentContextProvider(this, "memory"),
            },
            { label: "soul", provider: { get: async () => "You are helpful." } },
          ],
        });
        return session;
      }
    }
    const session = new Host().create();
    await session.replaceContextBlock("memory", "Note.");
    expect(await session.freezeSystemPrompt()).toMatch(/MEMORY.*Note\..*SOUL/s);
  });
});

describe("Messages", () => {
  it("are appended, updated, deleted and cleared", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 3);
    const parentId = "msg-1";
    let message = textMessage("new", "one");
    const ids = async () => (await session.getHistory()).map(({ id }) => id);

    // Append — auto-parents to the latest leaf unless parentId is specified
    await session.appendMessage(message);
    expect(await ids()).toEqual(["msg-1", "msg-2", "msg-3", "new"]);
    message = textMessage("branch", "two");
    await session.appendMessage(message, parentId);
    expect(await ids()).toEqual(["msg-1", "branch"]);

    // Update an existing message (matched by message.id)
    message = textMessage("branch", "edited");
    await session.updateMessage(message);
    expect((await session.getMessage("branch"))?.parts[0]?.text).toBe("edited");

    // Delete specific messages
    await session.deleteMessages(["msg-1", "msg-2"]);
    expect(await ids()).toEqual(["branch"]);
    expect((await session.getHistory("new")).map(({ id }) => id)).toEqual(["msg-3", "new"]);

    // Clear all messages and skill state
    await session.clearMessages();
    expect(await session.getPathLength()).toBe(0);
  });

  it("are read", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 3);
    const leafId = "msg-2";

    // Linear history from root to the latest leaf
    const messages = await session.getHistory();
    expect(messages.map(({ id }) => id)).toEqual(["msg-1", "msg-2", "msg-3"]);

    // History to a specific leaf (for branching)
    const branch = await session.getHistory(leafId);
    expect(branch).toHaveLength(2);

    // Get a single message
    const msg = await session.getMessage("msg-1");
    expect(msg?.id).toBe("msg-1");

    // Get the newest message
    const latest = await session.getLatestLeaf();
    expect(latest?.id).toBe("msg-3");

    // Count messages in path
    const count = await session.getPathLength();
    expect(count).toBe(3);
  });

  it("branch", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 2);
    await session.appendMessage(textMessage("again", "a regenerated answer", "assistant"), "msg-1");
    const messageId = "msg-1";

    // Get all child messages that branch from messageId
    const branches = await session.getBranches(messageId);
    expect(branches.map(({ id }) => id)).toEqual(["msg-2", "again"]);
  });

  it("are searched", async () => {
    const session = Session.create(new Agent());
    await conversation(session, 2);

    const results = await session.search("deployment Friday", { limit: 10 });
    // Returns: Array<{ id, role, content, createdAt? }>
    expect(results.map(({ id }) => id).sort()).toEqual(["msg-1", "msg-2"]);
    expect(results[0]).toMatchObject({ role: expect.any(String), content: expect.stringContaining("deployment") });
  });
});

describe("Context blocks", () => {
  it("AgentContextProvider", async () => {
    class Host extends Agent {
      create() {
        return new AgentContextProvider(this, "memory");
      }
    }
    const provider = new Host().create();
    await provider.set("User likes coffee.");
    expect(await provider.get()).toBe("User likes coffee.");
  });

  it("R2SkillProvider", async () => {
    const env = { SKILLS_BUCKET: new Bucket() };
    await env.SKILLS_BUCKET.put("skills/api-ref", "GET /things", { customMetadata: { description: "API Reference" } });
    class Host extends Agent {
      create() {
        return Session.create(this).withContext("skills", {
          provider: new R2SkillProvider(env.SKILLS_BUCKET, { prefix: "skills/" }),
        });
      }
    }
    const session = new Host().create();
    expect(await session.freezeSystemPrompt()).toContain("SKILLS [loadable]");
    expect(await session.freezeSystemPrompt()).toContain("- api-ref: API Reference");
    const tools = await session.tools();
    expect(await tools.load_context?.execute({ label: "skills", key: "api-ref" })).toContain("GET /things");
  });

  it("AgentSearchProvider", async () => {
    class Host extends Agent {
      create() {
        return Session.create(this).withContext("knowledge", {
          description: "Searchable knowledge base",
          provider: new AgentSearchProvider(this),
        });
      }
    }
    const tools = await new Host().create().tools();
    await tools.set_context?.execute({
      label: "knowledge",
      content: "Beans are in the pantry.",
      metadata: { title: "Beans" },
    });
    expect(await tools.search_context?.execute({ label: "knowledge", query: "where are the beans" })).toContain(
      "pantry",
    );
  });

  it("added and removed at runtime", async () => {
    const session = Session.create(new Agent()).withContext("memory");
    await session.freezeSystemPrompt();

    // Add a new block (auto-wires to SQLite if no provider given)
    await session.addContext("extension-notes", {
      description: "From extension X",
      maxTokens: 500,
    });
    expect(await session.freezeSystemPrompt()).not.toContain("EXTENSION-NOTES");

    // Remove it
    session.removeContext("extension-notes");

    // Rebuild the system prompt to reflect changes
    await session.refreshSystemPrompt();
    expect(session.getContextBlock("extension-notes")).toBeNull();
  });

  it("read and written", async () => {
    const session = Session.create(new Agent()).withContext("memory", { maxTokens: 1100 });
    await session.tools();

    // Read a single block
    const block = session.getContextBlock("memory");
    // { label, description?, content, tokens, maxTokens?, writable, isSkill, isSearchable }
    expect(block).toMatchObject({
      label: "memory",
      content: "",
      tokens: 0,
      maxTokens: 1100,
      writable: true,
      isSkill: false,
      isSearchable: false,
    });

    // Read all blocks
    const blocks = session.getContextBlocks();
    expect(blocks).toHaveLength(1);

    // Replace content entirely
    await session.replaceContextBlock("memory", "User likes coffee.");

    // Append content
    await session.appendContextBlock("memory", "\nUser prefers dark roast.");
    expect(session.getContextBlock("memory")?.content).toBe("User likes coffee.\nUser prefers dark roast.");
  });

  it("make the system prompt", async () => {
    const session = Session.create(new Agent())
      .withContext("soul", { description: "Identity", provider: { get: async () => "You are a helpful assistant." } })
      .withContext("memory", { description: "Learned facts", maxTokens: 1100 });
    await session.replaceContextBlock("memory", "User likes coffee.\nUser prefers dark roast.");

    // Freeze — first call renders and persists; subsequent calls return cached value
    const prompt = await session.freezeSystemPrompt();
    const line = "═".repeat(46);
    expect(prompt).toBe(
      `${line}\nSOUL (Identity) [readonly]\n${line}\nYou are a helpful assistant.\n\n` +
        `${line}\nMEMORY (Learned facts) [1% — 11/1100 tokens] [writable]\n${line}\nUser likes coffee.\nUser prefers dark roast.`,
    );

    // Refresh — re-render from current block state and persist
    await session.replaceContextBlock("memory", "User likes tea.");
    expect(await session.freezeSystemPrompt()).toBe(prompt);
    const updated = await session.refreshSystemPrompt();
    expect(updated).toContain("User likes tea.");
  });

  it("make the tools", async () => {
    const session = Session.create(new Agent()).withContext("memory");
    const myTools = { weather: { description: "Weather", inputSchema: {}, execute: async () => "sunny" } };
    const tools = await session.tools();
    const allTools = { ...tools, ...myTools };
    expect(Object.keys(allTools)).toEqual(["set_context", "weather"]);
  });
});

describe("Compaction", () => {
  const myModel = modelThatSays("## Topic\nDeployment");

  it("is set up", async () => {
    class Host extends Agent {
      create() {
        const session = Session.create(this)
          .withContext("memory", { maxTokens: 1100 })
          .onCompaction(
            createCompactFunction({
              summarize: (prompt) => generateText({ model: myModel, prompt }).then((r) => r.text),
              protectHead: 3,
              tailTokenBudget: 20000,
              minTailMessages: 2,
              tokenCounter: async (messages) => estimateWithYourTokenizer({ messages }),
            }),
          )
          .compactAfter(100_000);
        return session;
      }
    }
    const session = new Host().create();
    for (let n = 1; n <= 30; n += 1)
      await session.appendMessage(textMessage(`msg-${n}`, `${"word ".repeat(2000)}${n}`));
    const result = await session.compact();
    expect(result).toMatchObject({ fromMessageId: "msg-4", summary: "## Topic\nDeployment" });
    expect((await session.getHistory()).length).toBeLessThan(30);
  });

  it("is run by hand", async () => {
    const session = Session.create(new Agent()).onCompaction(myCompactFn);
    await conversation(session, 60);

    const result = await session.compact();
    expect(result?.fromMessageId).toBe("msg-4");

    // Or manage overlays directly
    await session.addCompaction("Summary of messages 1-50", "msg-1", "msg-50");
    const overlays = await session.getCompactions();
    expect(overlays).toHaveLength(2);
    expect((await session.getHistory())[0]?.parts[0]?.text).toBe("Summary of messages 1-50");
  });

  it("is triggered by a counter of one's own", async () => {
    const errors: unknown[] = [];
    class Host extends Agent {
      create() {
        const session = Session.create(this)
          .onCompaction(myCompactFn)
          .compactAfter(100_000, {
            tokenCounter: async ({ messages, systemPrompt, contextBlocks }) => {
              return estimateWithYourTokenizer({
                messages,
                systemPrompt,
                contextBlocks,
              });
            },
          })
          .onCompactionError((err) => {
            errors.push(err);
            console.warn("Auto-compaction failed", err);
          });
        return session;
      }
    }
    const session = new Host().create();
    // Few words, so that only this counter, which goes by characters, finds them too many.
    for (let n = 1; n <= 12; n += 1) await session.appendMessage(textMessage(`msg-${n}`, "€".repeat(36_000)));
    expect(errors).toEqual([]);
    expect((await session.getCompactions()).length).toBe(1);
    expect(await session.getPathLength()).toBe(12);
    expect((await session.getHistory()).length).toBeLessThan(12);
  });
});

describe("SessionManager", () => {
  const createManager = () => {
    class Host extends Agent {
      create() {
        const manager = SessionManager.create(this)
          .withContext("soul", { provider: { get: async () => "You are helpful." } })
          .withContext("memory", { description: "Learned facts", maxTokens: 1100 })
          .withCachedPrompt()
          .onCompaction(myCompactFn)
          .compactAfter(100_000)
          .withSearchableHistory("history");
        return manager;
      }
    }
    return new Host().create();
  };

  it("has sessions with all that it was configured with", async () => {
    const manager = createManager();
    const { id: sessionId } = await manager.create("My Chat");

    // Get or create the Session instance for an ID
    // Lazy — creates on first access, caches for subsequent calls
    const session = manager.getSession(sessionId);
    expect(manager.getSession(sessionId)).toBe(session);
    const prompt = await session.freezeSystemPrompt();
    expect(prompt).toContain("You are helpful.");
    expect(prompt).toContain("1 session available for search.");
    expect(Object.keys(await session.tools())).toEqual(["set_context", "search_context"]);
  });

  it("creates, gets, lists, renames and deletes", async () => {
    const manager = createManager();
    // Create a new session
    const info = await manager.create("My Chat");

    // Create with metadata
    const info2 = await manager.create("My Chat", {
      parentSessionId: "parent-id",
      model: "claude-sonnet-4-20250514",
      source: "web",
    });
    expect(info2).toMatchObject({ parent_session_id: "parent-id", model: "claude-sonnet-4-20250514", source: "web" });
    const sessionId = info.id;

    // Get session metadata (null if not found)
    const session = await manager.get(sessionId);
    expect(session).toEqual(info);
    expect(await manager.get("nowhere")).toBeNull();

    // Rename
    await manager.rename(sessionId, "New Name");

    // List all sessions (ordered by updated_at DESC)
    const sessions = await manager.list();
    expect(sessions).toHaveLength(2);
    expect(sessions.map(({ name }) => name).sort()).toEqual(["My Chat", "New Name"]);

    // Delete (clears messages too)
    await manager.append(sessionId, textMessage("m", "words"));
    await manager.delete(sessionId);
    expect(await manager.get(sessionId)).toBeNull();
    expect(await manager.search("words")).toEqual([]);
  });

  it("has the messages' convenience methods", async () => {
    const manager = createManager();
    const { id: sessionId } = await manager.create("My Chat");
    await conversation(manager.getSession(sessionId), 3);
    const [parentId, leafId] = ["msg-1", "new"];
    let message = textMessage("new", "one");
    const messages = [textMessage("a", "two"), textMessage("b", "three")];

    // Append a single message
    await manager.append(sessionId, message, parentId);

    // Add or update (upsert)
    message = textMessage("new", "edited");
    await manager.upsert(sessionId, message, parentId);

    // Batch append (auto-chains parent IDs)
    await manager.appendAll(sessionId, messages, parentId);
    expect((await manager.getHistory(sessionId)).map(({ id }) => id)).toEqual(["msg-1", "a", "b"]);

    // Read history
    const history = await manager.getHistory(sessionId, leafId);
    expect(history.map(({ parts }) => parts[0]?.text)).toEqual([expect.stringContaining("number 1"), "edited"]);

    // Message count
    const count = await manager.getMessageCount(sessionId);
    expect(count).toBe(3);

    // Clear messages
    await manager.clearMessages(sessionId);
    expect(await manager.getMessageCount(sessionId)).toBe(0);

    // Delete specific messages
    await manager.appendAll(sessionId, [textMessage("msg-1", "again"), textMessage("msg-2", "again")]);
    await manager.deleteMessages(sessionId, ["msg-1"]);
    expect(await manager.getMessageCount(sessionId)).toBe(1);
  });

  it("forks", async () => {
    const manager = createManager();
    const { id: sessionId } = await manager.create("My Chat");
    await conversation(manager.getSession(sessionId), 5);
    const atMessageId = "msg-3";

    const forked = await manager.fork(sessionId, atMessageId, "Forked Chat");
    // forked.parent_session_id === sessionId
    expect(forked.parent_session_id).toBe(sessionId);
    expect((await manager.getHistory(forked.id)).map(({ id }) => id)).toEqual(["msg-1", "msg-2", "msg-3"]);
  });

  it("has compaction helpers", async () => {
    const manager = createManager();
    const { id: sessionId } = await manager.create("My Chat");
    await conversation(manager.getSession(sessionId), 5);
    const [summary, fromId, toId] = ["In short.", "msg-2", "msg-4"];

    // Add a compaction overlay
    await manager.addCompaction(sessionId, summary, fromId, toId);

    // Get overlays
    const compactions = await manager.getCompactions(sessionId);
    expect(compactions).toMatchObject([{ summary, fromMessageId: fromId, toMessageId: toId }]);

    // Compact and split — marks old session as ended, creates a continuation
    const continuation = await manager.compactAndSplit(sessionId, summary, "Continued Chat");
    expect(continuation).toMatchObject({ name: "Continued Chat", parent_session_id: sessionId });
    expect((await manager.get(sessionId))?.end_reason).toBe("compaction");
    expect((await manager.getHistory(continuation.id))[0]?.parts[0]?.text).toContain(summary);
  });

  it("tracks usage", async () => {
    const manager = createManager();
    const { id: sessionId } = await manager.create("My Chat");
    const [inputTokens, outputTokens, cost] = [100, 20, 0.01];

    await manager.addUsage(sessionId, inputTokens, outputTokens, cost);
    expect(await manager.get(sessionId)).toMatchObject({ input_tokens: 100, output_tokens: 20, estimated_cost: 0.01 });
  });

  it("searches across sessions", async () => {
    const manager = createManager();
    await manager.append("one", textMessage("a", "the deployment is on Friday"));
    await manager.append("two", textMessage("a", "no deployment this week"));

    // Search across all sessions (FTS5)
    const results = await manager.search("deployment Friday", { limit: 20 });
    expect(results.map(({ sessionId }) => sessionId)).toEqual(["one", "two"]);

    // Get tools for the model (includes session_search)
    const tools = await manager.tools();
    expect(Object.keys(tools)).toEqual(["session_search"]);
    expect(await tools.session_search?.execute({ query: "deployment" })).toContain("deployment");
  });
});

describe("Custom providers", () => {
  const kept: string[] = [];
  const fetchFromMyDB = async () => "from my database";
  const saveToMyDB = async (content: string) => void kept.push(content);
  const fetchDocument = async (key: string) => (key === "guide" ? "The whole guide." : null);
  const saveDocument = async (...document: unknown[]) => void kept.push(document.join("|"));
  const searchMyIndex = async (query: string) => `results for ${query}`;
  const indexContent = async (...entry: unknown[]) => void kept.push(entry.join("|"));

  // Read-only context
  const myProvider: ContextProvider = {
    get: async () => "Static content here",
  };

  // Writable context (enables set_context tool)
  const myWritable: WritableContextProvider = {
    get: async () => fetchFromMyDB(),
    set: async (content) => saveToMyDB(content),
  };

  // Skill provider (enables load_context tool)
  const mySkills: SkillProvider = {
    get: async () => "- api-ref: API Reference\n- guide: User Guide",
    load: async (key) => fetchDocument(key),
    set: async (key, content, description) => saveDocument(key, content, description),
  };

  // Search provider (enables search_context tool)
  const mySearch: SearchProvider = {
    get: async () => "42 entries indexed",
    search: async (query) => searchMyIndex(query),
    set: async (key, content) => indexContent(key, content),
  };

  it("are told apart by their methods", async () => {
    const session = Session.create(new Agent())
      .withContext("static", { provider: myProvider })
      .withContext("mine", { provider: myWritable })
      .withContext("skills", { provider: mySkills })
      .withContext("kb", { provider: mySearch });
    const prompt = await session.freezeSystemPrompt();
    for (const header of ["STATIC [readonly]", "MINE [writable]", "SKILLS [loadable]", "KB [searchable]"]) {
      expect(prompt).toContain(header);
    }
    const tools = await session.tools();
    expect(Object.keys(tools)).toEqual(["set_context", "load_context", "unload_context", "search_context"]);
    await tools.set_context?.execute({ label: "mine", content: "written" });
    await tools.set_context?.execute({
      label: "skills",
      content: "body",
      metadata: { title: "new", description: "a doc" },
    });
    await tools.set_context?.execute({ label: "kb", content: "entry", metadata: { title: "fact" } });
    expect(kept).toEqual(["written", "new|body|a doc", "fact|entry"]);
    expect(await tools.load_context?.execute({ label: "skills", key: "guide" })).toBe("The whole guide.");
    expect(await tools.search_context?.execute({ label: "kb", query: "x" })).toContain("results for x");
  });
});

/** The storage as the older translation of the page shows it: its methods are synchronous. */
function synchronousStorage(): SessionProvider {
  const rows: { message: SessionMessage; parentId: string | null }[] = [];
  const compactions: Awaited<ReturnType<SessionProvider["getCompactions"]>> = [];
  const find = (id: string | null | undefined) => rows.find(({ message }) => message.id === id);
  const path = (leafId?: string | null) => {
    const found: SessionMessage[] = [];
    for (let row = find(leafId ?? rows.at(-1)?.message.id); row; row = find(row.parentId)) found.unshift(row.message);
    return found;
  };
  const myStorage: SessionProvider = {
    getMessage(id) {
      return find(id)?.message ?? null;
    },
    getHistory(leafId?) {
      return path(leafId);
    },
    getLatestLeaf() {
      return rows.at(-1)?.message ?? null;
    },
    getBranches(messageId) {
      return rows.filter(({ parentId }) => parentId === messageId).map(({ message }) => message);
    },
    getPathLength(leafId?) {
      return path(leafId).length;
    },
    appendMessage(message, parentId?) {
      rows.push({ message, parentId: parentId === undefined ? (rows.at(-1)?.message.id ?? null) : parentId });
    },
    updateMessage(message) {
      const row = find(message.id);
      if (row) row.message = message;
    },
    deleteMessages(messageIds) {
      const left = rows.filter(({ message }) => !messageIds.includes(message.id));
      rows.splice(0, rows.length, ...left);
    },
    clearMessages() {
      rows.length = 0;
      compactions.length = 0;
    },
    addCompaction(summary, fromId, toId) {
      const id = `c${compactions.length}`;
      const createdAt = new Date().toISOString();
      compactions.push({ id, summary, fromMessageId: fromId, toMessageId: toId, createdAt });
    },
    getCompactions() {
      return compactions;
    },
    searchMessages(query, limit) {
      const hits = rows.filter(({ message }) => JSON.stringify(message.parts).includes(query));
      return hits
        .slice(0, limit)
        .map(({ message }) => ({ id: message.id, role: message.role, content: JSON.stringify(message.parts) }));
    },
  };
  return myStorage;
}

/** The storage as the page shows it. */
function asynchronousStorage(): SessionProvider {
  const kept = synchronousStorage();
  const myStorage: SessionProvider = {
    async getMessage(id) {
      return kept.getMessage(id);
    },
    async getHistory(leafId?) {
      return kept.getHistory(leafId);
    },
    async getLatestLeaf() {
      return kept.getLatestLeaf();
    },
    async getBranches(messageId) {
      return kept.getBranches(messageId);
    },
    async getPathLength(leafId?) {
      return kept.getPathLength(leafId);
    },
    async appendMessage(message, parentId?) {
      kept.appendMessage(message, parentId);
    },
    async updateMessage(message) {
      kept.updateMessage(message);
    },
    async deleteMessages(messageIds) {
      kept.deleteMessages(messageIds);
    },
    async clearMessages() {
      kept.clearMessages();
    },
    async addCompaction(summary, fromId, toId) {
      kept.addCompaction(summary, fromId, toId);
    },
    async getCompactions() {
      return kept.getCompactions();
    },
    async searchMessages(query, limit) {
      return kept.searchMessages?.(query, limit) ?? [];
    },
  };
  return myStorage;
}

describe.each([
  ["asynchronous", asynchronousStorage],
  ["synchronous", synchronousStorage],
])("A SessionProvider of one's own, %s", (_kind, create) => {
  it("replaces the SQLite storage entirely", async () => {
    const session = Session.create(create()).onCompaction(myCompactFn);
    await conversation(session, 60);
    await session.appendMessage(textMessage("other", "another answer"), "msg-1");
    expect((await session.getBranches("msg-1")).map(({ id }) => id)).toEqual(["msg-2", "other"]);
    expect((await session.getHistory("msg-2")).map(({ id }) => id)).toEqual(["msg-1", "msg-2"]);
    expect(await session.getPathLength("msg-2")).toBe(2);
    expect(await session.search("number 7")).toHaveLength(1);
    await session.deleteMessages(["other"]);
    await session.updateMessage(textMessage("msg-60", "edited"));
    expect(await session.getLatestLeaf()).toEqual(textMessage("msg-60", "edited"));
    expect(await session.compact()).toMatchObject({ fromMessageId: "msg-4" });
    expect((await session.getHistory()).length).toBeLessThan(60);
    expect(await session.getPathLength()).toBe(60);
    await session.clearMessages();
    expect(await session.getHistory()).toEqual([]);
  });
});
