import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { expectError } from "../../../packages/conformance/src/assert.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import {
  PostgresContextProvider,
  PostgresSearchProvider,
  PostgresSessionProvider,
  Session,
  SessionManager,
} from "../../../packages/stemma/src/session.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

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

const SCHEMA = readFileSync(join(import.meta.dirname, "../../postgres/documents-schema.sql"), "utf8");

/** Calls a generated tool, as the AI SDK does when the model asks for it. */
async function call(session: Session, tool: string, input: Record<string, unknown>): Promise<unknown> {
  return (await session.tools())[tool]?.execute?.(input, { toolCallId: "call" });
}

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
    ["with the tables of the page", () => server.query(url, SCHEMA)],
    ["with tables that are made at the first use", () => {}],
    [
      "with the page's DDL on tables that were made",
      async () => {
        const store = postgres(url);
        await store.migrate();
        await store.close();
        await server.query(url, SCHEMA);
      },
    ],
  ])("wired up as shown, %s", (_title, prepare) => {
    beforeEach(async () => void (await prepare()));

    it("keeps messages, blocks, entries and the prompt across restarts", async () => {
      const session = await start();
      await session.appendMessage(textMessage("m1", "My name is Ada."));
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

    it("keeps sessions apart, but for what is named without one", async () => {
      const [one, two] = [await start("one"), await start("two")];
      await one.appendMessage(textMessage("a", "the canary sings"));
      await one.appendContextBlock("memory", "canary");
      await one.freezeSystemPrompt();
      expect(await two.getHistory()).toEqual([]);
      expect(await two.search("canary")).toEqual([]);
      expect(await two.freezeSystemPrompt()).not.toContain("canary");
      await call(one, "set_context", { label: "knowledge", content: "The whale sings." });
      for (const each of [one, two]) {
        expect(await call(each, "search_context", { label: "knowledge", query: "whale" })).toContain("sings");
      }
      expect(await two.refreshSystemPrompt()).toContain("1 entry indexed.");
    });

    it("keeps blocks under the labels that the host gave them, in the documented columns", async () => {
      const session = await start("x");
      await session.appendMessage(textMessage("m1", "the text"));
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
      expect(row?.content).toEqual(textMessage("m1", "the text"));
      expect(row?.created_at).toBeInstanceOf(Date);
    });
  });

  // The rows are those that the reference's statements write for the same program.
  it("finds what the same program wrote with the reference, and shares what it shared", async () => {
    await server.query(url, SCHEMA);
    await server.query(
      url,
      `INSERT INTO assistant_messages (id, session_id, parent_id, role, content, text_content) VALUES
         ('m1', 'agent-1', NULL, 'user', '${JSON.stringify(textMessage("m1", "My name is Ada."))}', 'My name is Ada.'),
         ('m1', 'agent-2', NULL, 'user', '${JSON.stringify(textMessage("m1", "My name is Bob."))}', 'My name is Bob.');
       INSERT INTO cf_agents_context_blocks (label, content) VALUES
         ('memory_agent-1', 'User is Ada.'), ('_prompt_agent-1', 'The frozen prompt of one.'),
         ('memory_agent-2', 'User is Bob.'), ('_prompt_agent-2', 'The frozen prompt of two.');
       INSERT INTO cf_agents_search_entries (label, key, content) VALUES
         ('knowledge', 'deploy-days', 'Deploys happen on Fridays.'), ('', 'alone', 'Written before it had a block.')`,
    );
    for (const [id, name, prompt] of [
      ["agent-1", "Ada", "The frozen prompt of one."],
      ["agent-2", "Bob", "The frozen prompt of two."],
    ] as const) {
      const session = await start(id);
      expect(await session.getHistory()).toEqual([textMessage("m1", `My name is ${name}.`)]);
      expect(await session.freezeSystemPrompt()).toBe(prompt);
      await session.tools();
      expect(session.getContextBlock("memory")?.content).toBe(`User is ${name}.`);
      expect(await call(session, "search_context", { label: "knowledge", query: "deploy" })).toContain("Fridays");
    }
    const one = await start("agent-1");
    await one.appendContextBlock("memory", " She likes tea.");
    const metadata = { title: "Deploy days" };
    await call(one, "set_context", { label: "knowledge", content: "Deploys happen on Mondays.", metadata });
    expect(await (await start("agent-1")).refreshSystemPrompt()).toContain("She likes tea.");
    const two = await start("agent-2");
    expect(await two.refreshSystemPrompt()).toContain("User is Bob.");
    expect(await call(two, "search_context", { label: "knowledge", query: "deploy" })).toBe(
      "[deploy-days]\nDeploys happen on Mondays.",
    );
  });

  it("shares its search entries between the sessions of a manager, and refuses a prompt that they would share", async () => {
    const client = new Client(url);
    await client.connect();
    const store = postgres(client);
    const manager = SessionManager.create(store)
      .withContext("memory")
      .withContext("facts", { provider: new PostgresContextProvider(client, "facts") })
      .withContext("knowledge", { provider: new PostgresSearchProvider(client) });
    await manager.getSession("a").replaceContextBlock("facts", "The office is in Oslo.");
    await manager.getSession("a").replaceContextBlock("memory", "Only of a.");
    await call(manager.getSession("a"), "set_context", { label: "knowledge", content: "Deploys happen on Fridays." });
    const other = manager.getSession("b");
    expect(await call(other, "search_context", { label: "knowledge", query: "deploy" })).toContain("Fridays");
    expect(await other.freezeSystemPrompt()).toContain("The office is in Oslo.");
    expect(await other.freezeSystemPrompt()).not.toContain("Only of a.");
    await manager.delete("a");
    expect(await new PostgresContextProvider(client, "facts").get()).toBe("The office is in Oslo.");
    const shared = () => SessionManager.create(store).withCachedPrompt(new PostgresContextProvider(client, "prompt"));
    expect(shared).toThrow(expect.objectContaining({ code: "PROVIDER_SHARED" }));
    await store.close();
    await client.end();
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
    for (const id of ["a", "b", "c"]) await session.appendMessage(textMessage(id, `text of ${id}`));
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
