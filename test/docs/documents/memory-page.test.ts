// The samples of the page "Memory", one test each, as they stand there but for import specifiers, what `this` is, and
// `await` before calls that the older page shows without it. They are JavaScript: TypeScript is told what a class's
// parameters are, and that the history holds UIMessages.
import { convertToModelMessages, generateText, streamText, type UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import { AgentSearchProvider, R2SkillProvider, Session } from "../../../packages/stemma/src/session.js";
import { createCompactFunction } from "../../../packages/stemma/src/utils/compaction-helpers.js";
import { truncateOlderMessages } from "../../../packages/stemma/src/utils.js";
import { Agent, Bucket, modelThatSays } from "../../documents/host.js";
import { textMessage } from "../../helpers/messages.js";

const rule = "═".repeat(46);

describe("Conversation history", () => {
  it("is appended and read", async () => {
    const session = Session.create(new Agent());
    // Append messages as the conversation progresses
    await session.appendMessage({
      id: `user-${crypto.randomUUID()}`,
      role: "user",
      parts: [{ type: "text", text: "What's the status of the deployment?" }],
    });
    // Read the full conversation history
    const history = await session.getHistory();
    expect(history).toHaveLength(1);
  });

  it("is searched", async () => {
    const session = Session.create(new Agent());
    await session.appendMessage(textMessage("a", "The deployment is on Friday."));
    const results = await session.search("deployment Friday", { limit: 10 });
    expect(results).toHaveLength(1);
  });
});

describe("Context memory", () => {
  it("read-only", async () => {
    class Host extends Agent {
      create() {
        const session = Session.create(this).withContext("soul", {
          provider: {
            get: async () =>
              "You are a senior TypeScript engineer. You write concise, " +
              "well-tested code. You prefer composition over inheritance. " +
              "When you are unsure, you say so rather than guessing.",
          },
        });
        return session;
      }
    }
    const session = new Host().create();
    expect(await session.freezeSystemPrompt()).toContain("rather than guessing.");
    expect(await session.tools()).toEqual({});
  });

  it("read-only from R2", async () => {
    const env = { CONFIG_BUCKET: new Bucket() };
    await env.CONFIG_BUCKET.put("soul.md", "You are a pirate.");
    class Host extends Agent {
      create() {
        const session = Session.create(this).withContext("soul", {
          provider: {
            get: async () => {
              const obj = await env.CONFIG_BUCKET.get("soul.md");
              return obj ? obj.text() : "You are a helpful assistant.";
            },
          },
        });
        return session;
      }
    }
    expect(await new Host().create().freezeSystemPrompt()).toBe(`${rule}\nSOUL [readonly]\n${rule}\nYou are a pirate.`);
  });

  it("writable short-form", async () => {
    class Host extends Agent {
      create() {
        const session = Session.create(this)
          .withContext("memory", {
            description: "Important facts learned during conversation",
            maxTokens: 1100,
          })
          .withContext("todos", {
            description: "Task list, track what needs to be done and what is complete",
            maxTokens: 2000,
          });
        return session;
      }
    }
    const session = new Host().create();
    const tools = await session.tools();
    await tools.set_context?.execute({ label: "memory", content: "User prefers dark mode." });
    await tools.set_context?.execute({ label: "todos", content: "- [ ] Add authentication middleware" });
    const refused = await tools.set_context?.execute({ label: "memory", content: "word ".repeat(2000) });
    expect(refused).toMatch(/^Error:/);
    expect(await session.freezeSystemPrompt()).toBe(
      `${rule}\nMEMORY (Important facts learned during conversation) [1% — 6/1100 tokens] [writable]\n${rule}\nUser prefers dark mode.\n\n` +
        `${rule}\nTODOS (Task list, track what needs to be done and what is complete) [0% — 9/2000 tokens] [writable]\n${rule}\n- [ ] Add authentication middleware`,
    );
  });

  it("searchable", async () => {
    class Host extends Agent {
      create() {
        const session = Session.create(this).withContext("knowledge", {
          description: "Searchable knowledge base, search for relevant information before answering",
          provider: new AgentSearchProvider(this),
        });
        return session;
      }
    }
    const session = new Host().create();
    const tools = await session.tools();
    for (const [title, content] of [
      ["Beans", "Coffee beans are in the pantry."],
      ["Machine", "The machine needs descaling in May."],
    ]) {
      await tools.set_context?.execute({ label: "knowledge", content, metadata: { title } });
    }
    expect(await tools.search_context?.execute({ label: "knowledge", query: "coffee" })).toBe(
      "[beans]\nCoffee beans are in the pantry.",
    );
    expect(await session.freezeSystemPrompt()).toContain("2 entries indexed.");
  });

  it("searchable with a search of one's own", async () => {
    const indexed: string[][] = [];
    const generateEmbedding = async (words: string) => [words.length];
    const env = {
      VECTORIZE_INDEX: {
        query: async (_vector: number[], { topK }: { topK: number }) => ({
          matches: [{ metadata: { text: "first" } }, { metadata: { text: "second" } }].slice(0, topK),
        }),
      },
    };
    class Host extends Agent {
      create() {
        const session = Session.create(this).withContext("knowledge", {
          description: "Searchable knowledge base",
          provider: {
            get: async () => "Product documentation and FAQs",
            search: async (query) => {
              // Use Vectorize, an external API, whatever you need
              const results = await env.VECTORIZE_INDEX.query(await generateEmbedding(query), { topK: 5 });
              return results.matches.map((m) => m.metadata.text).join("\n\n");
            },
            set: async (key, content) => {
              // Index new content
              indexed.push([key, content]);
            },
          },
        });
        return session;
      }
    }
    const tools = await new Host().create().tools();
    expect(await tools.search_context?.execute({ label: "knowledge", query: "anything" })).toBe("first\n\nsecond");
    await tools.set_context?.execute({ label: "knowledge", content: "entry", metadata: { title: "A title" } });
    expect(indexed).toEqual([["a-title", "entry"]]);
  });
});

describe("Skills", () => {
  it("backed by R2", async () => {
    const env = { SKILLS_BUCKET: new Bucket() };
    const content = "GET /things";
    await env.SKILLS_BUCKET.put("skills/api-ref", content, {
      customMetadata: { description: "API Reference documentation" },
    });
    await env.SKILLS_BUCKET.put("skills/style-guide", "Be brief.", {
      customMetadata: { description: "Company style guide" },
    });
    class Host extends Agent {
      create() {
        const session = Session.create(this)
          .withContext("soul", {
            provider: {
              get: async () =>
                [
                  "You are a helpful assistant with access to skills.",
                  "When a user asks you to do something, check the SKILLS section",
                  "for a relevant skill and use load_context to load it.",
                ].join("\n"),
            },
          })
          .withContext("memory", {
            description: "Learned facts",
            maxTokens: 1100,
          })
          .withContext("skills", {
            provider: new R2SkillProvider(env.SKILLS_BUCKET, { prefix: "skills/" }),
          })
          .withCachedPrompt();
        return session;
      }
    }
    const session = new Host().create();
    expect(await session.freezeSystemPrompt()).toContain(
      `${rule}\nSKILLS [loadable]\n${rule}\n- api-ref: API Reference documentation\n- style-guide: Company style guide`,
    );
    // Agent calls: load_context({ block: "skills", key: "deploy-checklist" })
    const tools = await session.tools();
    expect(await tools.load_context?.execute({ block: "skills", key: "api-ref" })).toBe("GET /things");
    expect(await tools.unload_context?.execute({ label: "skills", key: "api-ref" })).not.toMatch(/^Error/);
  });

  it("backed by a database of one's own", async () => {
    class Db {
      readonly rows = new Map<string, { content: string; description: string | null }>();
      prepare(sql: string) {
        const { rows } = this;
        const statement = (values: (string | null)[]) => ({
          bind: (...bound: (string | null)[]) => statement(bound),
          all: async () => ({ results: [...rows].map(([key, { description }]) => ({ key, description })) }),
          first: async () => rows.get(values[0] ?? "") ?? null,
          run: async () => {
            if (sql.startsWith("INSERT"))
              rows.set(values[0] ?? "", { content: values[1] ?? "", description: values[2] ?? null });
          },
        });
        return statement([]);
      }
    }
    class DatabaseSkillProvider {
      db;
      constructor(db: Db) {
        this.db = db;
      }
      async get() {
        const rows = await this.db.prepare("SELECT key, description FROM skills ORDER BY key").all();
        if (rows.results.length === 0) return null;
        return rows.results.map((r) => `- ${r.key}${r.description ? `: ${r.description}` : ""}`).join("\n");
      }
      async load(key: string) {
        const row = await this.db.prepare("SELECT content FROM skills WHERE key = ?").bind(key).first();
        return row ? row.content : null;
      }
      async set(key: string, content: string, description?: string) {
        await this.db
          .prepare(
            "INSERT INTO skills (key, content, description) VALUES (?, ?, ?) " +
              "ON CONFLICT(key) DO UPDATE SET content = ?, description = ?",
          )
          .bind(key, content, description ?? null, content, description ?? null)
          .run();
      }
    }
    const session = Session.create(new Agent()).withContext("skills", {
      provider: new DatabaseSkillProvider(new Db()),
    });
    const tools = await session.tools();
    expect(Object.keys(tools)).toEqual(["set_context", "load_context", "unload_context"]);
    await tools.set_context?.execute({
      label: "skills",
      content: "Step one.",
      metadata: { title: "deploy-checklist", description: "Production deployment checklist" },
    });
    expect(await session.freezeSystemPrompt()).toContain("- deploy-checklist: Production deployment checklist");
    expect(await tools.load_context?.execute({ label: "skills", key: "deploy-checklist" })).toBe("Step one.");
  });
});

describe("How agents interact with memory", () => {
  it("through the AI SDK", async () => {
    const session = Session.create(new Agent()).withContext("memory");
    await session.appendMessage(textMessage("u", "Hello"));
    const myModel = modelThatSays("Hi there.");
    const myApplicationTools = {};

    const sessionTools = await session.tools();
    const allTools = { ...sessionTools, ...myApplicationTools };
    const result = streamText({
      model: myModel,
      system: await session.freezeSystemPrompt(),
      messages: await convertToModelMessages(await session.getHistory<UIMessage>()),
      tools: allTools,
    });
    expect(await result.text).toBe("Hi there.");
    const sent = myModel.doStreamCalls[0];
    expect(sent?.tools?.map(({ name }) => name)).toEqual(["set_context"]);
    expect(JSON.stringify(sent?.prompt)).toContain("MEMORY [writable]");
  });

  it("with a prompt that stays while the model writes", async () => {
    class Host extends Agent {
      create() {
        const session = Session.create(this)
          .withContext("soul", {
            provider: { get: async () => "You are a helpful assistant." },
          })
          .withContext("memory", { description: "Learned facts", maxTokens: 1100 })
          .withCachedPrompt(); // Persist the frozen prompt across hibernation
        return session;
      }
    }
    const host = new Host();
    const session = host.create();
    // During a conversation turn:
    const system = await session.freezeSystemPrompt(); // Same value every call
    const tools = await session.tools();
    // ... agent calls set_context to update memory ...
    await tools.set_context?.execute({ label: "memory", content: "User likes coffee." });
    // The frozen prompt is NOT changed, prefix cache stays warm
    expect(await session.freezeSystemPrompt()).toBe(system);
    expect(await host.create().freezeSystemPrompt()).toBe(system);
    // Between turns (optional, if you want the agent to see its own updates):
    await session.refreshSystemPrompt();
    expect(await host.create().freezeSystemPrompt()).toContain("User likes coffee.");
  });
});

describe("Compaction", () => {
  it("summarises older messages by itself", async () => {
    const myModel = modelThatSays("## Topic\nNumbers");
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
            }),
          )
          .compactAfter(100_000); // Auto-compact when token estimate exceeds threshold
        return session;
      }
    }
    const session = new Host().create();
    for (let n = 1; n <= 45; n += 1) await session.appendMessage(textMessage(`m${n}`, `${"number ".repeat(2000)}${n}`));
    const history = await session.getHistory();
    expect(history[3]?.parts).toEqual([{ type: "text", text: "## Topic\nNumbers" }]);
    expect(history.at(-1)?.id).toBe("m45");
    expect(await session.getPathLength()).toBe(45);
    expect((await session.search("number", { limit: 50 })).length).toBe(45);
  });

  it("truncates older messages as they are read", async () => {
    const session = Session.create(new Agent());
    for (let n = 1; n <= 6; n += 1) await session.appendMessage(textMessage(`m${n}`, "x".repeat(20_000)));
    const history = await session.getHistory();
    const truncated = truncateOlderMessages(history);
    // Pass truncated history to the LLM
    expect(truncated.map(({ parts }) => (parts[0]?.text ?? "").length < 11_000)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
    expect((await session.getMessage("m1"))?.parts[0]?.text).toHaveLength(20_000);
  });
});
