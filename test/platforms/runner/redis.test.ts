import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  createSession,
  createSessionStorage,
  openStore,
  RedisSessionStorage,
  resumeSession,
  type SessionState,
} from "../../../packages/stemma/src/agent.js";
import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { describeStore, OF_STORAGES } from "../../describe-store.js";
import { calls, collect, says, scripted } from "../../runner/mock-model.js";
import { findRedis, type RedisServer, startRedis } from "../../runner/redis-server.js";
import { add } from "../../runner/tools.js";

const stateOf = (id: string, content = "Hi"): SessionState => ({
  id,
  messages: [{ id: "m", role: "user", content }],
  usage: { input_tokens: 1, output_tokens: 2 },
  metadata: {},
  createdAt: 1,
  updatedAt: 2,
});

describe.skipIf(findRedis() === null)(
  "RedisSessionStorage (needs redis-server on the PATH, or STEMMA_REDIS_SERVER)",
  () => {
    let server: RedisServer;
    let nodeRedis: ReturnType<typeof createClient>;
    let ioRedis: Redis;
    beforeAll(async () => {
      server = await startRedis();
      nodeRedis = createClient({ url: server.url });
      ioRedis = new Redis(server.url);
    });
    beforeEach(async () => {
      await ioRedis.flushall();
    });
    afterAll(async () => {
      nodeRedis.destroy();
      ioRedis.disconnect();
      await server.stop();
    });

    for (const client of ["redis", "ioredis"] as const) {
      describe(`with a client of ${client}`, () => {
        const make = (options = {}) => new RedisSessionStorage(client === "redis" ? nodeRedis : ioRedis, options);

        it("gives back what was saved, and lists it", async () => {
          const storage = make();
          await storage.save(stateOf("a"));
          await storage.save(stateOf("b", "漢字 🎉 \0"));
          expect(await storage.load("b")).toEqual(stateOf("b", "漢字 🎉 \0"));
          expect((await make().list()).sort()).toEqual(["a", "b"]);
          await storage.delete("a");
          expect(await storage.load("a")).toBeUndefined();
          expect(await storage.list()).toEqual(["b"]);
        });

        it("lists only its own keys, whatever its prefix, and each once among thousands", async () => {
          const storage = make({ prefix: "a*[b]?:" });
          await make({ prefix: "axb1:" }).save(stateOf("other"));
          const ids = Array.from({ length: 1500 }, (_, index) => `s${index}`);
          await Promise.all(ids.map((id) => storage.save(stateOf(id))));
          expect((await storage.list()).sort()).toEqual(ids.sort());
        });

        it("does not overwrite what someone else saved", async () => {
          const [ours, theirs] = [make(), make()];
          await ours.save(stateOf("a"));
          const state = (await theirs.load("a")) as SessionState;
          await theirs.save({ ...state, messages: [] });
          await expect(ours.save(stateOf("a", "mine"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
          await expect(ours.save(stateOf("a", "again"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
          expect((await ours.load("a"))?.messages).toEqual([]);
          await ours.save(stateOf("a", "mine"));
        });

        it("does not overwrite what someone else made since nothing was loaded", async () => {
          const [ours, theirs] = [make(), make()];
          expect([await ours.load("a"), await theirs.load("a")]).toEqual([undefined, undefined]);
          await theirs.save(stateOf("a", "theirs"));
          await expect(ours.save(stateOf("a", "mine"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
          expect((await ours.load("a"))?.messages[0]?.content).toBe("theirs");
        });

        it("overwrites a session that it never loaded, as the documents' own class does", async () => {
          await make().save(stateOf("a"));
          const other = make();
          await other.save(stateOf("a", "other"));
          expect((await make().load("a"))?.messages[0]?.content).toBe("other");
          await other.delete("a");
          await other.save(stateOf("a"));
        });

        it("notices what a class written as documented has stored meanwhile", async () => {
          const storage = make();
          const store = (content: string) => ioRedis.set("session:a", JSON.stringify(stateOf("a", content)));
          await store("one");
          const loaded = (await storage.load("a")) as SessionState;
          await store("two");
          await expect(storage.save(loaded)).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
        });

        it("goes on with what a class written as documented has stored", async () => {
          await ioRedis.set("session:old", JSON.stringify(stateOf("old")));
          const storage = make();
          expect(await storage.load("old")).toEqual(stateOf("old"));
          await storage.save(stateOf("old", "new"));
          expect(JSON.parse((await ioRedis.get("session:old")) ?? "")).toMatchObject({
            version: expect.any(Number),
            ...stateOf("old", "new"),
          });
        });

        it("lets a session expire that was not written for a while, unless it is written again", async () => {
          const storage = make({ ttlSeconds: 60 });
          await storage.save(stateOf("a"));
          expect(await ioRedis.ttl("session:a")).toBeGreaterThan(50);
          await ioRedis.del("session:a");
          await storage.save(stateOf("a"));
          expect(await storage.list()).toEqual(["a"]);
          const kept = make();
          await kept.save(stateOf("b"));
          expect(await ioRedis.ttl("session:b")).toBe(-1);
          await ioRedis.del("session:b");
          await expect(kept.save(stateOf("b"))).rejects.toMatchObject({ code: "SESSION_CONFLICT" });
        });

        it("keeps a conversation with tools", async () => {
          const model = scripted(calls(["a", "add", { x: 1 }]), says("Two"));
          const session = await createSession({ model, sessionStorage: make(), tools: { add } });
          await session.send("Add");
          await collect(session.receive());
          await session.close();
          expect((await resumeSession(session.id, { sessionStorage: make() })).state).toEqual(session.state);
        });
      });
    }

    it("opens a URL by itself, and closes what it opened", async () => {
      const storage = createSessionStorage("redis", { url: server.url, prefix: "url:" }) as RedisSessionStorage;
      await storage.save(stateOf("a"));
      expect(await storage.list()).toEqual(["a"]);
      await storage.close();
      const given = createSessionStorage("redis", { client: ioRedis }) as RedisSessionStorage;
      await given.close();
      expect(await ioRedis.ping()).toBe("PONG");
    });

    it("takes half of a surrogate pair for no session, not for that of U+FFFD", async () => {
      const storage = new RedisSessionStorage(ioRedis, { prefix: `${crypto.randomUUID()}:` });
      await storage.save(stateOf("\ufffd"));
      expect(await storage.load("\ud800")).toBeUndefined();
      expect(await storage.version("\udc00")).toBeNull();
      await storage.delete("\ud800");
      await expect(storage.save(stateOf("\ud800"))).rejects.toMatchObject({ code: "INVALID_TEXT" });
      expect((await storage.load("\ufffd"))?.id).toBe("\ufffd");
    });

    it("refuses clients and options that it cannot use", () => {
      expect(() => new RedisSessionStorage({} as never)).toThrow(
        expect.objectContaining({ code: "STORE_UNSUPPORTED" }),
      );
      const wrong = () => new RedisSessionStorage(ioRedis, { ttlSeconds: 0.5 });
      expect(wrong).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    });

    const prefixes = new WeakMap<Store, string>();
    const open = async (prefix: string) => {
      const store = await openStore(new RedisSessionStorage(ioRedis, { prefix }));
      prefixes.set(store, prefix);
      return store;
    };
    const target: StoreTarget = {
      name: "a store on RedisSessionStorage",
      capabilities: { embeddings: false, check: false },
      open: () => open(`${crypto.randomUUID()}:`),
      reopen: (store) => open(prefixes.get(store) ?? ""),
    };
    describeStore("redis", target, { differsIn: OF_STORAGES });
  },
);
