import { MockLanguageModelV3, simulateReadableStream } from "ai/test";
import { beforeEach, describe, expect, it } from "vitest";
import { chatHandler } from "../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";

interface Case {
  readonly name: string;
  readonly method: string;
  /** Of a chat. */
  readonly path: (id: string) => string;
  readonly body?: undefined | ((id: string) => unknown);
  /** What is answered for an absent chat and for another user's. */
  readonly refused: number;
  /** What is answered for a chat of one's own. */
  readonly own: number;
}

const question = (id = "q9", parts: unknown = [{ type: "text", text: "hello" }]) => ({ id, role: "user", parts });
const answer = (id: string) => ({
  id,
  role: "assistant",
  parts: [{ type: "tool-t", toolCallId: "c", state: "output-available", input: {}, output: 1 }],
});
const approval = {
  id: "a9",
  role: "assistant",
  parts: [
    { type: "tool-t", toolCallId: "c", state: "approval-responded", input: {}, approval: { id: "p", approved: true } },
  ],
};

const post = (name: string, body: object, refused: number, own = refused): Case => ({
  name: `POST / ${name}`,
  method: "POST",
  path: () => "",
  body: (id) => ({ id, ...body }),
  refused,
  own,
});
const on = (method: string, action: string, body: unknown, refused: number, own: number): Case => ({
  name: `${method} /:id${action} ${body === undefined ? "" : JSON.stringify(body)}`,
  method,
  path: (id) => `/${encodeURIComponent(id)}${action}`,
  body: body === undefined ? undefined : () => body,
  refused,
  own,
});

// Every route, with bodies that are good and bad. A good question to an absent chat begins it, so it is not among these.
const CASES: readonly Case[] = [
  post("without a message", {}, 400),
  post("no list", { messages: "m" }, 400),
  post("an empty list", { messages: [] }, 400),
  post("a message that is none", { message: { id: "q9", role: "user" } }, 400),
  post("a message in the form of a model's API", { message: { id: "q9", role: "user", content: "hello" } }, 400),
  post("a role that is none", { message: { ...question(), role: "robot" } }, 400),
  post("unknown parts only", { message: question("q9", [{ type: "nonsense" }]) }, 400),
  post("an id of no message", { message: question("") }, 400),
  post("an id that is too long", { message: question("x".repeat(2000)) }, 400),
  post("an id that is reserved", { message: question("compaction_1") }, 400),
  post("an id with NUL", { message: question("a\0b") }, 400),
  post("a date that is none", { message: { ...question(), createdAt: {} } }, 400),
  post("a chat's id that is too long", { id: "x".repeat(2000), message: question() }, 400),
  post("a chat's id that is reserved", { id: "stemma:user:ben", message: question() }, 400),
  post("an unknown trigger", { message: question(), trigger: "guess" }, 400),
  post("a messageId that is none", { message: question(), messageId: 7 }, 400),
  post("again, without a message", { trigger: "regenerate-message" }, 404, 200),
  post("again, an unknown message", { trigger: "regenerate-message", messageId: "nobody" }, 404, 200),
  post("results of an unknown answer", { message: answer("a9") }, 404),
  post("an approval of an unknown answer", { message: approval }, 404),
  post("results after a question that is none", { messages: [question("q9", [{ type: "x" }]), answer("a9")] }, 404),
  on("GET", "", undefined, 404, 200),
  on("GET", "?limit=0", undefined, 404, 400),
  on("GET", "?before=nobody", undefined, 404, 404),
  on("GET", "/memory", undefined, 200, 200),
  on("GET", "/stream", undefined, 204, 204),
  on("PATCH", "", { name: "Mine" }, 404, 200),
  on("PATCH", "", { name: 7 }, 400, 400),
  on("PATCH", "", {}, 400, 400),
  on("PATCH", "", { metadata: 7 }, 400, 400),
  on("POST", "/stop", { runId: "r" }, 404, 200),
  on("POST", "/stop", {}, 400, 400),
  on("POST", "/select", { messageId: "nobody" }, 404, 404),
  on("POST", "/select", {}, 400, 400),
  on("DELETE", "", undefined, 404, 204),
];

const usage = { inputTokens: { total: 1, noCache: 1 }, outputTokens: { total: 1, text: 1 } };
const chunks = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Hi." },
  { type: "text-end", id: "0" },
  { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
];

/** Registers what a chat handler answers for chats of nobody and of others, over a store. */
export function describeRefused(name: string, open: () => Store): void {
  describe(`a chat that is not the user's, on ${name}`, () => {
    let asked: string[];
    let handler: (request: Request) => Promise<Response>;
    let manager: SessionManager;
    let own: string;
    let others: string;

    beforeEach(async () => {
      asked = [];
      manager = SessionManager.create(open()).withContext("memory");
      const model = new MockLanguageModelV3({
        provider: "anthropic.messages",
        modelId: "m",
        doStream: async () => ({ stream: simulateReadableStream({ chunks: chunks as never }) }),
      });
      handler = chatHandler({
        sessions: manager,
        authenticate: (request) => ({ userId: request.headers.get("x-user") ?? "" }),
        model: ({ chatId, body }) => {
          asked.push(chatId);
          if (body.model === "unknown") throw new TypeError("No such model.");
          return model;
        },
        onError: () => "refused",
      });
      [own, others] = [crypto.randomUUID(), crypto.randomUUID()];
      for (const [user, id] of [
        ["ann", own],
        ["ben", others],
      ] as const) {
        const first = await ask(post("", { message: question("q1") }, 200), id, user);
        expect(first.status).toBe(200);
        await manager.getSession(id).replaceContextBlock("memory", `Of ${user}.`);
      }
      asked = [];
    });

    async function ask({ method, path, body }: Case, id: string, user = "ann") {
      const init = { method, headers: { "x-user": user } };
      const posted = body === undefined ? {} : { body: JSON.stringify(body(id)) };
      const response = await handler(new Request(`http://localhost/api/chat${path(id)}`, { ...init, ...posted }));
      const headers = Object.fromEntries(response.headers);
      return { status: response.status, headers, body: (await response.text()).replaceAll(id, "<id>") };
    }

    const stored = async (id: string) => {
      const session = manager.getSession(id);
      return [await manager.get(id), await session.getTree(), await session.getBlockHistory("memory")];
    };

    it.each(CASES)("is answered as one that is not there: $name", async (route) => {
      const absent = crypto.randomUUID();
      const before = await stored(others);
      const answers = [await ask(route, absent), await ask(route, others)];
      expect(answers[1]).toEqual(answers[0]);
      expect(answers[0]?.status).toBe(route.refused);
      expect(await manager.get(absent)).toBeNull();
      expect(await stored(others)).toEqual(before);
      expect(asked).toEqual([]);
      expect((await ask(route, own)).status).toBe(route.own);
    });

    it("is not begun by a request that is good but for what the server's own functions say", async () => {
      const [absent, route] = [crypto.randomUUID(), post("", { message: question(), model: "unknown" }, 500)];
      expect((await ask(route, absent)).status).toBe(500);
      expect(await manager.get(absent)).toBeNull();
      expect((await ask(route, others)).status).toBe(404);
      expect(asked).toEqual([absent]);
    });

    it("keeps the run of a chat of one's own when a request is refused", async () => {
      const run = async () => JSON.parse((await ask(on("GET", "", undefined, 200, 200), own)).body).run;
      const before = await run();
      for (const route of CASES.filter(({ name, own }) => name.startsWith("POST / ") && own >= 400))
        await ask(route, own);
      expect(await run()).toEqual(before);
    });

    it("stays free for the user whose request is good", async () => {
      const id = crypto.randomUUID();
      for (const route of CASES) await ask(route, id, "ben");
      expect((await ask(post("", { message: question() }, 200), id)).status).toBe(200);
      expect((await manager.get(id))?.user_id).toBe("ann");
    });

    it("is not found by a search", async () => {
      const found = await ask({ ...on("GET", "", undefined, 200, 200), path: () => "?q=hello&limit=200" }, others);
      expect(JSON.parse(found.body).matches.map(({ chatId }: { chatId: string }) => chatId)).not.toContain("<id>");
    });
  });
}
