import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import Database from "better-sqlite3";
import { beforeEach, describe, expect, it } from "vitest";
import {
  createSession,
  forkSession,
  MemorySessionStorage,
  openStore,
  resumeSession,
  type SessionState,
  StoreSessionStorage,
} from "../../../packages/stemma/src/agent.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

const read = (name: string) => readFileSync(join(import.meta.dirname, "../..", "fixtures", name));

/** What the registry held already; it belongs to the metadata. */
const MINE: Record<string, object> = { none: { mine: true }, both: { mine: true } };

/** A state as the program read it that wrote it. */
function expected(state: SessionState): SessionState {
  const { stemma: _ours, ...metadata } = state.metadata;
  return whole({ ...state, metadata: { ...MINE[state.id], ...metadata } });
}

function whole(state: SessionState): SessionState {
  return state.id === "large" ? { ...state, metadata: { ...state.metadata, text: "x".repeat(70_000) } } : state;
}

const statesOf = (name: string) => Object.values(JSON.parse(String(read(name)))) as SessionState[];
const inDatabase = statesOf("runner-metadata.json");
const inDocuments = statesOf("runner-metadata.documents.json");

describe("metadata that a session kept in a block", () => {
  let store: Store;

  beforeEach(() => {
    store = sqlite(new Database(gunzipSync(read("runner-metadata.sqlite.gz"))));
  });

  it.each(inDatabase.map((state) => [state.id, state] as const))("is read as before: %s", async (id, state) => {
    expect(await new StoreSessionStorage(store).load(id)).toEqual(expected(state));
    expect((await resumeSession(id, { sessionStorage: store })).state).toEqual(expected(state));
    // Whoever only reads changes nothing.
    expect(await new StoreSessionStorage(store).load(id)).toEqual(expected(state));
  });

  it("is in the registry after the next write", async () => {
    for (const { id, metadata } of inDatabase.map(expected)) {
      const session = await resumeSession(id, { sessionStorage: store });
      await session.send("More");
      await session.close();
      const { topic, stars, nested } = metadata;
      const held = { topic, stars, nested, ...MINE[id] };
      expect((await store.sessions.get(id))?.metadata).toEqual(JSON.parse(JSON.stringify(held)));
      expect((await resumeSession(id, { sessionStorage: store })).state.metadata).toEqual(metadata);
    }
  });

  it("gives way to what is written to the registry from then on", async () => {
    const manager = SessionManager.create(store);
    for (const id of ["both", "null"]) await (await resumeSession(id, { sessionStorage: store })).send("More");
    await manager.update("both", { metadata: { topic: "new" } });
    await manager.update("null", { metadata: { user: "Ada" } });
    const metadataOf = async (id: string) => (await resumeSession(id, { sessionStorage: store })).state.metadata;
    expect(await metadataOf("both")).toEqual({ topic: "new", mine: true });
    expect(await metadataOf("null")).toEqual({ topic: "tea", user: "Ada" });
  });

  it("goes with a fork, whose usage starts anew", async () => {
    const ofRunner = await forkSession("counted", { sessionStorage: store, metadata: { stars: 5 } });
    expect(ofRunner.state).toMatchObject({
      metadata: { topic: "tea", stars: 5 },
      usage: { input_tokens: 0, output_tokens: 0 },
    });
    expect((await store.sessions.get(ofRunner.id))?.metadata).toEqual({ topic: "tea", stars: 5 });
  });
});

describe("the metadata of states", () => {
  it("is read as before, and the registry shows it", async () => {
    const sessionStorage = new MemorySessionStorage();
    for (const state of inDocuments) await sessionStorage.save(whole(state));
    const store = await openStore(sessionStorage);
    for (const state of inDocuments) {
      const { id, metadata } = expected(state);
      expect((await resumeSession(id, { sessionStorage })).state).toEqual(expected(state));
      const info = await store.sessions.get(id);
      expect(info?.metadata.topic).toBe(metadata.topic);
      expect(info?.updated_at).toBe(new Date(state.updatedAt).toISOString());
      await (await resumeSession(id, { sessionStorage })).send("More");
      const { stemma: _ours, ...saved } = (await sessionStorage.load(id))?.metadata ?? {};
      expect(saved).toEqual(metadata);
    }
  });
});

describe("metadata", () => {
  const storages = { "a store": memory, "a storage": () => new MemorySessionStorage() };

  it.each(Object.entries(storages))("is one in the runner and in the registry of %s", async (_name, make) => {
    const sessionStorage = make();
    const session = await createSession({ id: "s", sessionStorage, metadata: { topic: "tea", user: null } });
    const manager = SessionManager.create(await openStore(sessionStorage));
    expect((await manager.listPage({ metadata: { topic: "tea" } })).sessions.map(({ id }) => id)).toEqual(["s"]);
    expect(session.state.metadata).toEqual({ topic: "tea", user: null });
    await manager.update("s", { metadata: { stars: 5, stemma: "mine" } });
    const resumed = await resumeSession("s", { sessionStorage });
    expect(resumed.state.metadata).toEqual({ topic: "tea", user: null, stars: 5 });
    await resumed.send("Hello");
    expect((await manager.get("s"))?.metadata).toEqual({ topic: "tea", stars: 5, stemma: "mine" });
  });

  it("counts no usage of its origin in a manager's fork", async () => {
    const store = memory();
    const storage = new StoreSessionStorage(store);
    const usage = { input_tokens: 3, output_tokens: 4, cache_read_input_tokens: 20 };
    const messages = [{ id: "a", role: "user" as const, content: "Hello" }];
    await storage.save({ id: "s", messages, usage, metadata: { topic: "tea" }, createdAt: 1, updatedAt: 1 });
    const fork = await SessionManager.create(store).fork("s", "a", "Fork");
    expect(await storage.load(fork.id)).toMatchObject({
      usage: { input_tokens: 0, output_tokens: 0 },
      metadata: { topic: "tea" },
    });
  });

  it("is replaced by a state that is saved", async () => {
    const storage = new StoreSessionStorage(memory());
    const state = { id: "s", messages: [], usage: { input_tokens: 0, output_tokens: 0 }, createdAt: 1, updatedAt: 1 };
    await storage.save({ ...state, metadata: { topic: "tea", user: null } });
    await storage.save({ ...state, metadata: { stars: 5 } });
    expect((await storage.load("s"))?.metadata).toEqual({ stars: 5 });
  });
});
