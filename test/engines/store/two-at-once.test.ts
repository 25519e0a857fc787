// One file: each kind of work that holds no lease of its own, two at once on one database, one of which stands still.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { streamText, tool, wrapLanguageModel } from "ai";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { hashingEmbedder } from "../../../packages/conformance/src/search/hashing-embedder.js";
import type { ParsedSession } from "../../../packages/formats/src/stemma/session-file.js";
import { defer } from "../../../packages/model/src/lib/queue.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { createSession, resumeSession } from "../../../packages/stemma/src/agent.js";
import { stemmaMiddleware } from "../../../packages/stemma/src/ai-sdk.js";
import { importSession } from "../../../packages/stemma/src/formats.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import type { EmbeddableStore } from "../../../packages/store/src/embeddings/contract.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { scriptedModel } from "../../ai-sdk/scripted-model.js";
import { textMessage } from "../../helpers/messages.js";
import { standingStill } from "../../helpers/standing-still.js";
import { openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";
import { calls, collect, says, scripted } from "../../runner/mock-model.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-two-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => vi.useRealTimers());

interface Opened {
  readonly store: EmbeddableStore;
  close(): Promise<void>;
}

describe("two at once on a SQLite file", () => {
  describeWork(() => {
    const store = sqlite(join(folder, "two.db"));
    return { store, close: () => store.close() };
  });
});

describeServer("two at once on Postgres", (server) => {
  describeWork(() => {
    const { source, close } = openPool(server.url);
    return { store: postgres(source), close };
  });
});

function describeWork(open: () => Opened): void {
  /** Tries `first` with a stop at each of its calls; `second` works meanwhile, and `check` looks once the first has ended. */
  async function atEachCall(work: {
    before?: (store: Store, id: string) => Promise<unknown>;
    first: (store: Store, id: string) => Promise<unknown>;
    second: (store: Store, id: string) => Promise<unknown>;
    check: (store: Store, id: string, first: PromiseSettledResult<unknown>) => Promise<void>;
  }): Promise<number> {
    const [one, two] = [open(), open()];
    for (let at = 1; ; at += 1) {
      const id = `chat ${at} ${crypto.randomUUID()}`;
      await work.before?.(two.store, id);
      const still = standingStill(one.store, at);
      const ended = Promise.allSettled([work.first(still.store, id)]);
      const isOver = await Promise.race([still.stands.then(() => false), ended.then(() => true)]);
      if (!isOver) await work.second(two.store, id);
      still.wake();
      const [result] = await ended;
      if (isOver) {
        await one.close();
        await two.close();
        return at - 1;
      }
      await work.check(two.store, id, result);
    }
  }

  it("imports of a file that grows lose no piece of it, and count its usage once", async () => {
    const partsOf = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ type: "text", text: `${index}` }));
    const file = (id: string, pieces: number): ParsedSession =>
      ({
        id,
        name: "File",
        source: "pi",
        messages: [
          { message: textMessage("q"), parentId: null },
          {
            message: {
              id: "a",
              role: "assistant",
              parts: partsOf(pieces),
              metadata: { pi: { entries: Array.from({ length: pieces }, (_, index) => `e${index}`) } },
            },
            parentId: "q",
          },
        ],
        compactions: [],
        skipped: [],
        usage: { inputTokens: 10 * pieces, outputTokens: pieces, cost: pieces },
        usageRows: [
          {
            day: "2026-01-01",
            model: "m",
            requests: pieces,
            inputTokens: 10 * pieces,
            outputTokens: pieces,
            cost: pieces,
          },
        ],
      }) as unknown as ParsedSession;
    for (const before of [0, 1]) {
      const stops = await atEachCall({
        before: async (store, id) => before > 0 && importSession(store, file(id, before)),
        first: (store, id) => importSession(store, file(id, 3)),
        second: (store, id) => importSession(store, file(id, 5)),
        check: async (store, id, { status }) => {
          expect(status).toBe("fulfilled");
          expect((await store.session(id).message("a"))?.parts).toEqual(partsOf(5));
          const { input_tokens, estimated_cost } = (await store.sessions.get(id)) ?? {};
          expect([input_tokens, estimated_cost]).toEqual([50, 5]);
          expect((await store.sessions.usageRows(id)).map(({ requests, cost }) => [requests, cost])).toEqual([[5, 5]]);
        },
      });
      expect(stops).toBeGreaterThan(3);
    }
  });

  it("results for the calls of one message are all kept", async () => {
    const ask = tool({ inputSchema: z.object({}) });
    const result = (tool_use_id: string) => [
      { type: "tool_result" as const, tool_use_id, content: `of ${tool_use_id}` },
    ];
    const stops = await atEachCall({
      before: async (store, id) => {
        const model = scripted(calls(["a", "ask", {}], ["b", "ask", {}]));
        const session = await createSession({ id, model, sessionStorage: store, tools: { ask } });
        await session.send("Hi");
        await collect(session.receive());
        await session.close();
      },
      first: async (store, id) => (await resumeSession(id, { sessionStorage: store })).send(result("a")),
      second: async (store, id) => (await resumeSession(id, { sessionStorage: store })).send(result("b")),
      check: async (store, id, { status }) => {
        expect(status).toBe("fulfilled");
        const parts = (await store.session(id).leaf())?.parts ?? [];
        expect(parts.map(({ output, errorText }) => output ?? errorText).filter(Boolean)).toEqual(["of a", "of b"]);
      },
    });
    expect(stops).toBeGreaterThan(3);
  });

  it("a turn of the runner that wakes up leaves the answer of another process", async () => {
    const add = tool({ inputSchema: z.object({}), execute: async () => "added" });
    const answer = async (store: Store, id: string, name: string) => {
      const model = scripted(calls([`${name}-call`, "add", {}]), says(`From ${name}`));
      const session = await resumeSession(id, { model, sessionStorage: store, tools: { add } });
      await session.send({ role: "user", content: `Hi from ${name}` } as never);
      const events = await collect(session.receive());
      await session.close();
      return events;
    };
    let then: string[] = [];
    const stored = async (store: Store, id: string) => {
      const all: string[] = [];
      for await (const { message } of store.session(id).messages()) all.push(JSON.stringify(message));
      return all;
    };
    let refused = 0;
    const stops = await atEachCall({
      before: async (store, id) => (await createSession({ id, sessionStorage: store })).close(),
      first: (store, id) => answer(store, id, "first"),
      second: async (store, id) => {
        await answer(store, id, "second");
        then = await stored(store, id);
      },
      check: async (store, id, result) => {
        if (result.status === "rejected") {
          // The other one may have answered all there was.
          expect(["SESSION_CONFLICT", "NOTHING_TO_ANSWER"]).toContain(result.reason.code);
          if (result.reason.code === "SESSION_CONFLICT") refused += 1;
        }
        const now = await stored(store, id);
        const own = then.filter((message) => /second|killed/.test(message));
        for (const message of own) expect(now).toContain(message);
        expect(new Set(now).size).toBe(now.length);
      },
    });
    expect(stops).toBeGreaterThan(5);
    expect(refused).toBeGreaterThan(0);
  });

  it("what is learned is written once, also where the right to learn has ended meanwhile", async () => {
    const learnFrom = async (store: Store, id: string) => {
      const session = Session.create(store)
        .forSession(id)
        .withContext("facts")
        .onLearning(async () => [{ label: "facts", action: "add", content: "Likes tea.", messageIds: ["q"] }], {
          idleAfter: Number.POSITIVE_INFINITY,
        });
      const errors: unknown[] = [];
      session.subscribe((event) => event.type === "cf_agent_session_error" && errors.push(event.error));
      await session.close();
      expect(errors).toEqual([]);
    };
    const stops = await atEachCall({
      before: (store, id) =>
        store.session(id).append([textMessage("q", "I like tea"), textMessage("a", "Fine", "assistant")]),
      first: learnFrom,
      second: async (store, id) => {
        // As another process does that takes the first one for dead.
        await store.records.delete({ sessionId: id, label: "learning" }, "lease");
        await learnFrom(store, id);
      },
      check: async (store, id) => {
        const block = await store.blocks.get({ sessionId: id, kind: "block", label: "facts" });
        expect(block?.content.match(/Likes tea/g)?.length).toBe(1);
      },
    });
    expect(stops).toBeGreaterThan(3);
  });

  it("calls of a remembered model store each message and each answer once, and none is lost", async () => {
    const call = async (store: Store, id: string, text: string) => {
      const { model } = scriptedModel(() => `To ${text}`);
      const middleware = stemmaMiddleware({ sessions: SessionManager.create(store), sessionId: id });
      const messages = ["Before", "To before", text].map((content, index) => {
        return { role: index === 1 ? ("assistant" as const) : ("user" as const), content };
      });
      return streamText({ model: wrapLanguageModel({ model, middleware }), messages, onError() {} }).text;
    };
    const stops = await atEachCall({
      first: (store, id) => call(store, id, "first"),
      second: (store, id) => call(store, id, "second"),
      check: async (store, id, { status }) => {
        expect(status).toBe("fulfilled");
        const stored: string[] = [];
        for await (const { message } of store.session(id).messages()) {
          stored.push(message.parts.map(({ text = "" }) => text).join(""));
        }
        expect(stored.toSorted()).toEqual(["Before", "To before", "To first", "To second", "first", "second"]);
      },
    });
    expect(stops).toBeGreaterThan(3);
  });

  it("a title is stored only while the right to name is held", async () => {
    const [one, two] = [open(), open()];
    const id = crypto.randomUUID();
    await two.store.session(id).append([textMessage("q"), textMessage("a", "Fine", "assistant")]);
    const [asked, woken] = [defer(), defer()];
    const told: unknown[] = [];
    const named = (store: Store, generate: () => Promise<string>) => {
      const session = Session.create(store).forSession(id).withTitle(generate);
      session.subscribe((event) => event.type === "title" && told.push(event.name));
      return session;
    };
    const first = named(one.store, async () => {
      asked.resolve();
      await woken.promise;
      return "From first";
    });
    await first.upsertMessage(textMessage("a", "Fine", "assistant"));
    await asked.promise;
    // As another process does that takes the first one for dead.
    await two.store.records.delete({ sessionId: id, label: "title" }, "lease");
    const second = named(two.store, () => Promise.reject(new Error("overloaded")));
    await second.upsertMessage(textMessage("a", "Fine", "assistant"));
    await second.close();
    woken.resolve();
    await first.close();
    expect([(await two.store.sessions.get(id))?.name, told]).toEqual([id, []]);
    await one.close();
    await two.close();
  });

  it("retention removes nothing that was written while it stood still", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    for (const rule of [{ olderThan: 1000 }, { keepMessages: 2 }]) {
      const stops = await atEachCall({
        before: async (store, id) => {
          const now = vi.getRealSystemTime();
          vi.setSystemTime(now - 3_600_000);
          await store
            .forUser(id)
            .session(id)
            .append(["a", "b", "c", "d"].map((each) => textMessage(each)));
          vi.setSystemTime(now);
        },
        first: (store, id) => SessionManager.create(store).retain({ ...rule, userId: id }),
        second: (store, id) =>
          store
            .forUser(id)
            .session(id)
            .append([textMessage("new")]),
        check: async (store, id, { status }) => {
          expect(status).toBe("fulfilled");
          expect((await store.session(id).leaf())?.id).toBe("new");
        },
      });
      expect(stops).toBeGreaterThan(2);
    }
  });

  it("an embedder that wakes up stores no vector of a text that was changed, and none twice", async () => {
    const { embed, id: name, dimensions } = hashingEmbedder();
    const [one, two] = [open(), open()];
    const [asked, woken] = [defer(), defer()];
    const id = crypto.randomUUID();
    await two.store.session(id).append([textMessage("a", "tea in Lima"), textMessage("b", "rain")]);
    const waiting = one.store.withEmbedder({
      id: name,
      dimensions,
      embed: async (texts, options) => {
        asked.resolve();
        await woken.promise;
        return embed(texts, options);
      },
    });
    const working = two.store.withEmbedder({ id: name, dimensions, embed });
    const first = waiting.embeddings.flush();
    await asked.promise;
    await working.session(id).update(textMessage("a", "snow on the mountain"));
    await working.session(id).append([textMessage("c", "wind")]);
    await working.embeddings.flush();
    const vectors = async () => {
      const all: string[] = [];
      for await (const { messageId, text, vector } of working.vectors?.list(id, { id: name, dimensions }) ?? [])
        all.push(`${messageId} ${text} ${vector}`);
      return all;
    };
    const then = await vectors();
    expect(then).toHaveLength(3);
    woken.resolve();
    await first;
    expect(await vectors()).toEqual(then);
    expect(await waiting.embeddings.backlog()).toBe(0);
    await one.close();
    await two.close();
  });
}
