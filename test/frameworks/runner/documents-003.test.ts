// The code samples of document 003, one test each, changed only in import specifiers, paths and URLs.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import {
  builtinTools,
  createSession,
  createSessionStorage,
  FileSessionStorage,
  forkSession,
  MemorySessionStorage,
  resumeSession,
  type SessionState,
  type SessionStorage,
  setDefaultStorage,
} from "../../../packages/stemma/src/agent.js";
import { collect } from "../../runner/mock-model.js";
import { anthropicServer, type ModelServer } from "../../runner/model-servers.js";
import { findRedis, type RedisServer, startRedis } from "../../runner/redis-server.js";

let directory: string;
let server: ModelServer;
let output: string;
const write = (text: string) => {
  output += text;
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "stemma-003-"));
  output = "";
  server = await anthropicServer({ say: "We were discussing tea." }, { say: "Still tea." }, { say: "Tea." });
  vi.stubEnv("ANTHROPIC_BASE_URL", server.url);
  vi.stubEnv("ANTHROPIC_API_KEY", "key");
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await server.close();
  rmSync(directory, { recursive: true, force: true });
});

describe("Session storage", () => {
  it("creates a session with persistent storage", async () => {
    // Create a persistent storage instance
    const storage = new FileSessionStorage(`${directory}/sessions`);

    // Create session with persistent storage
    const session = await createSession({
      model: "claude-sonnet-4-20250514",
      tools: builtinTools,
      sessionStorage: storage,
    });

    // Save the session ID for later resumption
    const sessionId = session.id;

    // ... use the session ...
    await session.send("Let us talk about tea.");

    await session.close();

    expect(await storage.list()).toEqual([sessionId]);
    expect((await storage.load(sessionId))?.messages).toMatchObject([
      { role: "user", content: "Let us talk about tea." },
    ]);
  });

  it("resumes from a previous session", async () => {
    const before = await createSession({
      id: "previous-session-id",
      sessionStorage: new FileSessionStorage(`${directory}/sessions`),
    });
    await before.send("Let us talk about tea.");
    await before.close();

    const storage = new FileSessionStorage(`${directory}/sessions`);

    // Resume from a previous session
    const session = await createSession({
      model: "claude-sonnet-4-20250514",
      tools: builtinTools,
      sessionStorage: storage,
      resume: "previous-session-id", // The session ID from before
    });

    // Continue the conversation with full context
    await session.send("What were we discussing?");

    for await (const event of session.receive()) {
      if (event.type === "text") {
        write(event.text);
      }
    }

    expect(output).toBe("We were discussing tea.");
    expect(JSON.stringify(server.requests[0]?.messages)).toContain("Let us talk about tea.");
    expect(server.requests[0]?.tools).toHaveLength(8);
  });

  it("uses a default storage", async () => {
    // Set once at application startup
    setDefaultStorage(new FileSessionStorage(`${directory}/sessions`));

    // All sessions now use file storage by default
    const session1 = await createSession({ model: "claude-sonnet-4-20250514" });
    const session2 = await createSession({ model: "claude-sonnet-4-20250514" });

    // Both sessions are persisted to ./sessions/
    const files = readdirSync(`${directory}/sessions`);
    expect(files.sort()).toEqual([`${session1.id}.json`, `${session2.id}.json`].sort());
    setDefaultStorage(new MemorySessionStorage());
  });

  it("has the documented shape of a state", async () => {
    const storage: SessionStorage = new MemorySessionStorage();
    const session = await createSession({ sessionStorage: storage });
    await session.send("Hi");
    const fork = await forkSession(session.id, { sessionStorage: storage });
    const state: SessionState | undefined = await storage.load(fork.id);
    expect(state).toEqual({
      id: fork.id,
      messages: [{ id: expect.any(String), role: "user", content: "Hi" }],
      usage: { input_tokens: 0, output_tokens: 0 },
      metadata: expect.any(Object),
      createdAt: expect.any(Number),
      updatedAt: expect.any(Number),
      parentId: session.id,
    });
  });
});

describe("Built-in storages", () => {
  it("has a memory storage with clear and size", async () => {
    const storage = new MemorySessionStorage();
    await createSession({ sessionStorage: storage });
    expect(storage.size()).toBe(1); // Get number of stored sessions

    // Additional methods
    storage.clear(); // Clear all sessions
    expect(storage.size()).toBe(0);
  });

  it("keeps each session in a JSON file named by its id", async () => {
    // Sessions stored as ./sessions/{session-id}.json
    const storage = new FileSessionStorage(`${directory}/sessions`);
    for (const id of ["sess_abc123", "sess_def456", "sess_ghi789"]) {
      await createSession({ sessionStorage: storage, id });
    }
    expect(readdirSync(`${directory}/sessions`).sort()).toEqual([
      "sess_abc123.json",
      "sess_def456.json",
      "sess_ghi789.json",
    ]);
    expect(JSON.parse(readFileSync(`${directory}/sessions/sess_abc123.json`, "utf8"))).toMatchObject({
      id: "sess_abc123",
    });
  });
});

/** Talks, resumes, forks, branches and compacts on a storage. */
async function useStorage(storage: SessionStorage): Promise<void> {
  const session = await createSession({
    model: "claude-sonnet-4-20250514",
    sessionStorage: storage,
    context: [{ label: "memory" }],
  });
  await session.send("Let us talk about tea.");
  await collect(session.receive());
  await session.session.appendContextBlock("memory", "Likes tea.");
  const [first] = await session.session.getHistory();
  await session.session.addCompaction("They talk about tea.", first?.id ?? "", first?.id ?? "");
  await session.session.setActiveLeaf(first?.id ?? "");
  await session.send("Or coffee?");
  await session.close();

  const resumed = await resumeSession(session.id, { sessionStorage: storage, context: [{ label: "memory" }] });
  expect(resumed.state).toEqual(session.state);
  expect(resumed.getMessages().map(({ content }) => content)).toEqual(["Let us talk about tea.", "Or coffee?"]);
  expect((await resumed.session.getTree()).length).toBe(3);
  expect((await resumed.session.getHistory())[0]?.parts).toEqual([{ type: "text", text: "They talk about tea." }]);
  expect(await resumed.session.freezeSystemPrompt()).toContain("MEMORY");
  expect(resumed.session.getContextBlock("memory")?.content).toBe("Likes tea.");
  expect(await storage.list()).toEqual([session.id]);
  await storage.delete(session.id);
  await expect(resumeSession(session.id, { sessionStorage: storage })).rejects.toThrow("Session not found");
}

describe("Custom storages", () => {
  it("works with a SQLite storage written as documented", async () => {
    class SQLiteSessionStorage implements SessionStorage {
      private db: Database.Database;

      constructor(dbPath: string) {
        this.db = new Database(dbPath);
        this.db.exec(`
          CREATE TABLE IF NOT EXISTS sessions (
            id TEXT PRIMARY KEY,
            state TEXT NOT NULL,
            updated_at INTEGER NOT NULL
          )
        `);
      }

      async save(state: SessionState): Promise<void> {
        this.db
          .prepare(`
          INSERT OR REPLACE INTO sessions (id, state, updated_at)
          VALUES (?, ?, ?)
        `)
          .run(state.id, JSON.stringify(state), Date.now());
      }

      async load(sessionId: string): Promise<SessionState | undefined> {
        const row = this.db.prepare("SELECT state FROM sessions WHERE id = ?").get(sessionId) as
          | { state: string }
          | undefined;
        return row ? JSON.parse(row.state) : undefined;
      }

      async delete(sessionId: string): Promise<void> {
        this.db.prepare("DELETE FROM sessions WHERE id = ?").run(sessionId);
      }

      async list(): Promise<string[]> {
        const rows = this.db.prepare("SELECT id FROM sessions").all() as { id: string }[];
        return rows.map((r) => r.id);
      }
    }

    await useStorage(new SQLiteSessionStorage(join(directory, "documented.db")));
  });

  describe.skipIf(findRedis() === null)(
    "with a Redis server (needs redis-server on the PATH, or STEMMA_REDIS_SERVER)",
    () => {
      let redis: RedisServer;
      beforeAll(async () => {
        redis = await startRedis();
      });
      afterAll(() => redis.stop());

      it("works with a Redis storage written as documented", async () => {
        class RedisSessionStorage implements SessionStorage {
          private client: ReturnType<typeof createClient>;
          private prefix: string;

          constructor(redisUrl: string, prefix = "session:") {
            this.client = createClient({ url: redisUrl });
            this.prefix = prefix;
          }

          /** The document leaves out that a client must connect. */
          async open(): Promise<this> {
            await this.client.connect();
            return this;
          }

          close(): void {
            this.client.destroy();
          }

          async save(state: SessionState): Promise<void> {
            await this.client.set(this.prefix + state.id, JSON.stringify(state));
          }

          async load(sessionId: string): Promise<SessionState | undefined> {
            const data = await this.client.get(this.prefix + sessionId);
            return data ? JSON.parse(data) : undefined;
          }

          async delete(sessionId: string): Promise<void> {
            await this.client.del(this.prefix + sessionId);
          }

          async list(): Promise<string[]> {
            const keys = await this.client.keys(`${this.prefix}*`);
            return keys.map((k) => k.slice(this.prefix.length));
          }
        }

        const storage = await new RedisSessionStorage(redis.url).open();
        await useStorage(storage);
        storage.close();
      });
    },
  );

  it("works with every kind that createSessionStorage makes", async () => {
    await useStorage(createSessionStorage("memory"));
    await useStorage(createSessionStorage("file", { directory: join(directory, "files") }));
    await useStorage(createSessionStorage("sqlite", { path: join(directory, "sessions.db") }));
  });
});

describe("Best practices", () => {
  it("reuses one storage instance that a module exports", async () => {
    const before = process.cwd();
    process.chdir(directory);
    try {
      const { session } = await import("../../runner/document-003/app.js");
      expect(readdirSync(`${directory}/data/sessions`)).toEqual([`${session.id}.json`]);
    } finally {
      process.chdir(before);
    }
  });

  it("starts a fresh session when the one to resume is not there", async () => {
    const sessionStorage = new FileSessionStorage(`${directory}/data/sessions`);
    const sessionId = "gone";
    let fresh: string | undefined;
    try {
      const session = await createSession({
        sessionStorage,
        resume: sessionId,
      });
      expect(session).toBeUndefined();
    } catch (error) {
      if ((error as Error).message.includes("Session not found")) {
        // Start a fresh session instead
        const session = await createSession({ sessionStorage });
        fresh = session.id;
      }
    }
    expect(await sessionStorage.list()).toEqual([fresh]);
  });

  it("cleans old sessions up as documented", async () => {
    async function cleanupOldSessions(storage: FileSessionStorage, maxAgeDays: number) {
      const sessionIds = await storage.list();
      const maxAge = maxAgeDays * 24 * 60 * 60 * 1000;

      for (const id of sessionIds) {
        const state = await storage.load(id);
        if (state && Date.now() - state.updatedAt > maxAge) {
          await storage.delete(id);
        }
      }
    }

    const storage = new FileSessionStorage(`${directory}/sessions`);
    const old = await createSession({ sessionStorage: storage });
    const recent = await createSession({ sessionStorage: storage });
    const state = (await storage.load(old.id)) as SessionState;
    await storage.save({ ...state, updatedAt: Date.now() - 31 * 24 * 60 * 60 * 1000 });
    await cleanupOldSessions(storage, 30);
    expect(await storage.list()).toEqual([recent.id]);
  });
});
