import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  PostgresContextProvider,
  PostgresSearchProvider,
  PostgresSessionProvider,
  Session,
  type SessionMessage,
} from "../../src/session.js";
import { expectError } from "../../src/testing/assert.js";
import { describeServer } from "./server.js";

// The page's samples, changed in import specifiers only. What stands for the Agents SDK:
interface Env {
  HYPERDRIVE: { connectionString: string };
}

abstract class Agent<E = Env> {
  readonly ctx: { id: { toString(): string } };

  constructor(
    readonly env: E,
    id: string,
  ) {
    this.ctx = { id: { toString: () => id } };
  }

  // A broadcaster that a session on Postgres must leave alone.
  broadcast(): never {
    throw new Error("The session told its status.");
  }
}

const SCHEMA = readFileSync(join(import.meta.dirname, "documents-schema.sql"), "utf8");

/** Calls a generated tool, as the AI SDK does when the model asks for it. */
async function call(session: Session, tool: string, input: Record<string, unknown>): Promise<unknown> {
  return (await session.tools())[tool]?.execute?.(input, { toolCallId: "call" });
}

const say = (id: string, text: string): SessionMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

describeServer("the documents' page on Postgres", (server) => {
  class MyAgent extends Agent<Env> {
    session?: Session;
    private pgClient?: Client;

    async onStart(): Promise<void> {
      const client = new Client({
        connectionString: this.env.HYPERDRIVE.connectionString,
      });
      await client.connect();
      this.pgClient = client;

      const sessionId = this.ctx.id.toString();
      this.session = Session.create(new PostgresSessionProvider(client, sessionId))
        .withContext("soul", {
          provider: {
            get: async () => "You are a helpful assistant.",
          },
        })
        .withContext("memory", {
          description: "Short facts",
          maxTokens: 1100,
          provider: new PostgresContextProvider(client, `memory_${sessionId}`),
        })
        .withContext("knowledge", {
          description: "Searchable knowledge base",
          provider: new PostgresSearchProvider(client),
        })
        .withCachedPrompt(new PostgresContextProvider(client, `_prompt_${sessionId}`));
    }

    async onStop(): Promise<void> {
      await this.pgClient?.end();
    }
  }

  let url = "";
  const started: MyAgent[] = [];

  /** Starts an agent, as after an eviction: nothing of an earlier one is in memory. */
  async function start(id = "agent-1"): Promise<Session> {
    const agent = new MyAgent({ HYPERDRIVE: { connectionString: url } }, id);
    started.push(agent);
    await agent.onStart();
    return agent.session as Session;
  }

  beforeEach(async () => {
    url = await server.createDatabase();
  });

  afterEach(async () => {
    for (const agent of started.splice(0)) await agent.onStop();
  });

  describe.each([
    ["with the tables of the page", SCHEMA],
    ["with tables that are made at the first use", ""],
  ])("wired up as shown, %s", (_title, schema) => {
    beforeEach(() => server.query(url, schema));

    it("keeps messages, blocks, entries and the prompt across restarts", async () => {
      const session = await start();
      await session.appendMessage(say("m1", "My name is Ada."));
      await session.appendMessage({ id: "m2", role: "assistant", parts: [{ type: "text", text: "Hello, Ada." }] });
      await call(session, "set_context", { label: "memory", content: "User is Ada." });
      const metadata = { title: "Deploys" };
      await call(session, "set_context", { label: "knowledge", content: "Deploys happen on Fridays.", metadata });
      const prompt = await session.freezeSystemPrompt();
      expect(prompt).toContain("You are a helpful assistant.");
      expect(prompt).toContain("User is Ada.");
      expect(prompt).toContain("1 entry indexed.");

      const again = await start();
      expect((await again.getHistory()).map(({ id }) => id)).toEqual(["m1", "m2"]);
      expect(await again.freezeSystemPrompt()).toBe(prompt);
      expect(await call(again, "search_context", { label: "knowledge", query: "deploying" })).toContain(
        "Deploys happen on Fridays.",
      );
      expect(await again.search("names")).toMatchObject([{ id: "m1" }]);
    });

    it("returns the stored prompt until it is refreshed", async () => {
      const session = await start();
      const prompt = await session.freezeSystemPrompt();
      await session.replaceContextBlock("memory", "User likes tea.");
      expect(await session.freezeSystemPrompt()).toBe(prompt);
      const refreshed = await session.refreshSystemPrompt();
      expect(refreshed).toContain("User likes tea.");
      expect(await (await start()).freezeSystemPrompt()).toBe(refreshed);
    });

    it("keeps sessions apart", async () => {
      const [one, two] = [await start("one"), await start("two")];
      await one.appendMessage(say("a", "the canary sings"));
      await one.appendContextBlock("memory", "canary");
      await call(one, "set_context", { label: "knowledge", content: "the canary sings" });
      await one.freezeSystemPrompt();
      expect(await two.getHistory()).toEqual([]);
      expect(await two.search("canary")).toEqual([]);
      expect(await two.freezeSystemPrompt()).not.toContain("canary");
      expect(await call(one, "search_context", { label: "knowledge", query: "canary" })).toContain("sings");
      expect(await call(two, "search_context", { label: "knowledge", query: "canary" })).not.toContain("sings");
    });

    it("keeps blocks under the labels that the host gave them, in the documented columns", async () => {
      const session = await start("x");
      await session.appendMessage(say("m1", "the text"));
      await session.replaceContextBlock("memory", "fact");
      await session.freezeSystemPrompt();
      expect(await server.query(url, "SELECT label, content FROM cf_agents_context_blocks ORDER BY 1")).toMatchObject([
        { label: "_prompt_x" },
        { label: "memory_x", content: "fact" },
      ]);
      const [row] = await server.query(
        url,
        "SELECT id, session_id, parent_id, role, content::json AS content, text_content, created_at FROM assistant_messages",
      );
      expect(row).toMatchObject({ id: "m1", session_id: "x", parent_id: null, role: "user", text_content: "the text" });
      expect(row?.content).toEqual(say("m1", "the text"));
      expect(row?.created_at).toBeInstanceOf(Date);
    });
  });

  it("asks for a provider for each block, and for the prompt", async () => {
    const client = new Client(url);
    await client.connect();
    const session = () => Session.create(new PostgresSessionProvider(client, "s"));
    await expectError(session().withContext("memory").getHistory(), "PROVIDER_REQUIRED");
    await expectError(session().withCachedPrompt().getHistory(), "PROVIDER_REQUIRED");
    expect(await session().getHistory()).toEqual([]);
    await client.end();
  });

  it("compacts and counts as a session on any other store does", async () => {
    const session = await start();
    for (const id of ["a", "b", "c"]) await session.appendMessage(say(id, `text of ${id}`));
    await session.addCompaction("what was said", "a", "b");
    expect((await session.getHistory()).map(({ id }) => id)).toEqual([expect.stringMatching(/^compaction_/), "c"]);
    expect(await session.getPathLength()).toBe(3);
    expect((await session.getBranches("a")).map(({ id }) => id)).toEqual(["b"]);
    expect((await session.getLatestLeaf())?.id).toBe("c");
    await session.deleteMessages(["c"]);
    expect(await session.getPathLength()).toBe(2);
    await session.clearMessages();
    expect(await session.getHistory()).toEqual([]);
  });
});
