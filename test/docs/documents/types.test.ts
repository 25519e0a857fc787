// What the documents pass compiles under strict TypeScript: `npm run check -- types` checks this file, and `npm test` runs it.
import { convertToModelMessages, streamText, type UIMessage } from "ai";
import { describe, expect, expectTypeOf, it } from "vitest";
import {
  Session,
  SessionManager,
  type SessionMessage,
  type SessionProvider,
  type SessionTool,
  type SkillProvider,
  type StoredCompaction,
} from "../../../packages/stemma/src/session.js";
import { truncateOlderMessages } from "../../../packages/stemma/src/utils.js";
import { memory } from "../../../packages/store/src/memory.js";
import { Agent, modelThatSays } from "../../documents/host.js";
import { textMessage } from "../../helpers/messages.js";

/** A database without types of its own, as Workers have one. */
const database = {
  first: async (): Promise<Record<string, unknown> | null> => ({ content: "the document" }),
};

class DatabaseSkillProvider {
  async get() {
    return "- guide";
  }

  async load(_key: string) {
    const row = await database.first();
    return row ? row.content : null;
  }
}

/** The sketch of a storage, with bodies. */
function storage(): SessionProvider {
  const rows = new Map<string, { message: SessionMessage; parentId: string | null }>();
  const overlays: StoredCompaction[] = [];
  let latest: string | null = null;
  const path = (leafId?: string | null) => {
    const messages = [];
    for (let row = rows.get(leafId ?? latest ?? ""); row; row = rows.get(row.parentId ?? "")) {
      messages.unshift(row.message);
    }
    return messages;
  };
  return {
    async getMessage(id) {
      return rows.get(id)?.message ?? null;
    },
    async getHistory(leafId?) {
      return path(leafId);
    },
    async getLatestLeaf() {
      return path().at(-1) ?? null;
    },
    async getBranches(messageId) {
      return [...rows.values()].filter(({ parentId }) => parentId === messageId).map(({ message }) => message);
    },
    async getPathLength(leafId?) {
      return (await this.getHistory(leafId)).length;
    },
    async appendMessage(message, parentId?) {
      rows.set(message.id, { message, parentId: parentId === undefined ? latest : parentId });
      latest = message.id;
    },
    async updateMessage(message) {
      const row = rows.get(message.id);
      if (row) row.message = message;
    },
    async deleteMessages(messageIds) {
      for (const id of messageIds) rows.delete(id);
    },
    async clearMessages() {
      rows.clear();
      latest = null;
    },
    async addCompaction(summary, fromId, toId) {
      const overlay = {
        id: crypto.randomUUID(),
        summary,
        fromMessageId: fromId,
        toMessageId: toId,
        createdAt: new Date().toISOString(),
      };
      overlays.push(overlay);
      return overlay;
    },
    async getCompactions() {
      return overlays;
    },
    async searchMessages(query, limit) {
      return [...rows.values()]
        .filter(({ message }) => JSON.stringify(message.parts).includes(query))
        .slice(0, limit)
        .map(({ message }) => ({ id: message.id, role: message.role, content: message.parts[0]?.text ?? "" }));
    },
  };
}

describe("what the documents pass has the type that is asked for", () => {
  it("a history for the AI SDK", async () => {
    const session = Session.create(memory());
    await session.appendMessage(textMessage("a", "Hello"));
    expect(await convertToModelMessages(await session.getHistory())).toHaveLength(1);
    expect(await convertToModelMessages(truncateOlderMessages(await session.getHistory()))).toHaveLength(1);
    const manager = SessionManager.create(memory());
    expect(await convertToModelMessages(await manager.getHistory("none"))).toEqual([]);
    const history: UIMessage[] = await session.getHistory();
    const messages: SessionMessage[] = await session.getHistory();
    expect(history).toEqual(messages);
    const result = streamText({
      model: modelThatSays("Hello"),
      system: await session.freezeSystemPrompt(),
      messages: await convertToModelMessages(await session.getHistory()),
      tools: { ...(await session.tools()), ...(await manager.tools()) },
    });
    expect(await result.text).toBe("Hello");
  });

  it("a message of unknown type", async () => {
    class MyAgent extends Agent {
      session = Session.create(this).withContext("memory", { maxTokens: 1100 }).withCachedPrompt();

      async onMessage(message: unknown) {
        await this.session.appendMessage(message);
        return this.session.getHistory();
      }
    }
    expect(await new MyAgent().onMessage(textMessage("a", "Hello"))).toHaveLength(1);
  });

  it("a skill of which a database without types gives the text", async () => {
    const session = Session.create(memory())
      .withContext("skills", { provider: new DatabaseSkillProvider() })
      .withContext("more", {
        provider: { get: () => null, load: async (key) => (key.length > 1 ? (await database.first())?.content : null) },
      });
    const { load_context } = await session.tools();
    for (const label of ["skills", "more"]) {
      expect(await load_context.execute({ label, key: "guide" })).toBe("the document");
    }
    const typed: SkillProvider = { get: () => null, load: async () => JSON.parse('"text"') };
    expect(await typed.load("x")).toBe("text");
  });

  it("a storage of one's own, with bodies", async () => {
    const session = Session.create(storage());
    await session.appendMessage(textMessage("a", "Hello"));
    await session.appendMessage(textMessage("b", "there"));
    expect(await session.getPathLength(null)).toBe(2);
    expect((await session.search("there")).map(({ id }) => id)).toEqual(["b"]);
  });

  it("the tools of the blocks that are there, by name", async () => {
    const wired = await Session.create(memory()).withContext("memory", { maxTokens: 100 }).tools();
    expectTypeOf(wired.set_context).toEqualTypeOf<SessionTool>();
    expect(await wired.set_context.execute({ label: "memory", content: "x" })).toContain("Replaced");
    const session = Session.create(memory())
      .withContext("soul", { provider: { get: async () => "kind" } })
      .withContext("knowledge", { provider: { get: () => null, search: async (query) => query.toUpperCase() } })
      .withContext("skills", { provider: new DatabaseSkillProvider() })
      .withCachedPrompt()
      .withExpandableSummaries()
      .forSession("one");
    const tools = await session.tools();
    expectTypeOf(tools.search_context).toEqualTypeOf<SessionTool>();
    expectTypeOf(tools.unload_context).toEqualTypeOf<SessionTool>();
    expectTypeOf(tools.expand_summary).toEqualTypeOf<SessionTool>();
    // No block can be written.
    expectTypeOf(tools.set_context).toEqualTypeOf<SessionTool | undefined>();
    expect(Object.keys(tools).sort()).toEqual(["expand_summary", "load_context", "search_context", "unload_context"]);
    expectTypeOf((await SessionManager.create(memory()).tools()).session_search).toEqualTypeOf<SessionTool>();
    // Wherever a session is wanted, one whose tools are known will do.
    const plain: Session = session;
    expect(plain.id).toBe("one");
  });

  it("a session of a class of one's own while it is configured", () => {
    class Own extends Session {
      name() {
        return `own ${this.id}`;
      }
    }
    const own = new Own(storage()).withContext("soul", { provider: { get: () => null } }).compactAfter(1000);
    expect(own.name()).toBe("own ");
    // @ts-expect-error a name that is no option
    expect(() => own.withContext("memory", { provider: { get: () => null }, maxToken: 5 })).toThrow("maxToken");
  });
});
