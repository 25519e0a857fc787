import type { UIMessage } from "ai";
import { type ChatFactHistory, type ChatFacts, chatHandler } from "../../packages/stemma/src/ai-sdk.js";
import {
  AgentSearchProvider,
  createLearnFunction,
  type ExtractRequest,
  type LearnEdit,
  SessionManager,
} from "../../packages/stemma/src/session.js";
import { type Say, scriptedModel } from "./scripted-model.js";
import type { Runner } from "./test-runner.js";

const API = "http://chat.example/api/chat";

/** What the chat handler does with facts of users, on any store. */
export function describeFacts(name: string, open: () => object, { describe, it, expect }: Runner): void {
  describe(`facts over the chat handler on ${name}`, () => {
    it("learns a fact after an answer, shows it with its message, changes it, forgets it and takes that back", async () => {
      const { user, say, ask, facts, at } = start(open());
      await say(user, "c1", "m1", "I live in Oslo.");
      const [fact] = await facts(user);
      expect(fact).toMatchObject({ label: "facts", content: "Lives in Oslo.", holds: true, origin: "learning" });
      expect(fact?.message).toMatchObject({ messageId: "m1", text: "I live in Oslo." });
      const path = at(fact?.key ?? "");
      const change = {
        content: "Lives in Oslo, near the sea.",
        validFrom: "2024-03-01",
        expectedContent: "Lives in Oslo.",
      };
      const changed = (await ask(user, "PATCH", path, change)).body as ChatFactHistory;
      expect(changed.fact).toMatchObject({
        content: change.content,
        validFrom: "2024-03-01T00:00:00.000Z",
        origin: "user",
      });
      expect((await ask(user, "PATCH", path, change)).status).toBe(409);
      expect((await ask(user, "DELETE", path)).status).toBe(204);
      expect([await facts(user), (await ask(user, "DELETE", path)).status]).toEqual([[], 404]);
      const back = (await ask(user, "PATCH", path, { version: changed.versions[0]?.version })).body as ChatFactHistory;
      expect(back.fact).toMatchObject({ content: change.content, validFrom: "2024-03-01T00:00:00.000Z" });
      expect(back.versions.map(({ content }) => content)).toEqual([
        change.content,
        null,
        change.content,
        "Lives in Oslo.",
      ]);
      const exported = (await ask(user, "GET", "/memory/export")).body;
      expect(exported.facts).toMatchObject([{ content: change.content, versions: [{}, { content: null }, {}, {}] }]);
    });

    it("ends a fact by a later one, and opens it again when that is forgotten", async () => {
      const { user, say, ask, facts, at } = start(open());
      await say(user, "c1", "m1", "I live in Oslo.");
      await say(user, "c2", "m2", "I live in Bergen.");
      const shown = async () => (await facts(user)).map(({ content, holds }) => [content, holds]).sort();
      expect(await shown()).toEqual([
        ["Lives in Bergen.", true],
        ["Lives in Oslo.", false],
      ]);
      await ask(user, "DELETE", at((await facts(user)).find(({ holds }) => holds)?.key ?? ""));
      expect(await shown()).toEqual([["Lives in Oslo.", true]]);
    });

    it("does not bring back what was forgotten, though the same messages are learned again", async () => {
      const { user, say, ask, facts, at, learned, learnAnew } = start(open());
      await say(user, "c1", "m1", "I live in Oslo.");
      const [fact] = await facts(user);
      expect((await ask(user, "DELETE", at(fact?.key ?? ""))).status).toBe(204);
      await learnAnew(user, "c1");
      await say(user, "c1", "m2", "I like tea.");
      expect(learned.map(({ messages }) => messages.filter(({ role }) => role === "user").map(({ id }) => id))).toEqual(
        [["m1"], ["m1", "m2"]],
      );
      expect((await facts(user)).map(({ content }) => content)).toEqual(["Likes tea."]);
    });

    it("shows one user's facts in no answer to another: routes, recall, search, tools and learning", async () => {
      const { user: anna, manager, say, ask, at, facts, learned, prompts, script } = start(open());
      const bob = crypto.randomUUID();
      const canary = `canary${crypto.randomUUID().replaceAll("-", "")}`;
      // The other one asks for the word beside it.
      await say(anna, "a1", "m1", `I like ${canary} zeppelins.`);
      const [fact] = await facts(anna);
      expect(fact?.content).toBe(`Likes ${canary} zeppelins.`);
      const path = at(fact?.key ?? "");
      for (const query of ["?q=zeppelins", "?recall=zeppelins"]) {
        expect(JSON.stringify(await ask(anna, "GET", query))).toContain(canary);
      }

      const before = [learned.length, prompts.length] as const;
      const search = (label: string): Say => ({ call: "search_context", input: { label, query: "zeppelins" } });
      script.push(search("facts"), search("history"), "Nothing.");
      await say(bob, "b1", "m1", "Which zeppelins do I like?");
      script.push({
        call: "set_context",
        input: { label: "facts", content: "Bob's.", metadata: { title: fact?.key } },
      });
      await say(bob, "b2", "m2", "I like rain.");
      const answers = [
        await ask(bob, "GET", "/memory"),
        await ask(bob, "GET", "/memory/export"),
        await ask(bob, "GET", "?q=zeppelins"),
        await ask(bob, "GET", "?recall=zeppelins"),
        await ask(bob, "GET", "/none/memory"),
        await ask(bob, "GET", path),
        await ask(bob, "PATCH", path, { content: "taken" }),
        await ask(bob, "DELETE", path),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200, 200, 204]);
      const tools = await manager.forUser(bob).tools();
      const told = await Promise.all(
        Object.values(tools).map((tool) => tool.execute({ query: "zeppelins" }, { toolCallId: "t" })),
      );
      const seen = JSON.stringify([answers, told, learned.slice(before[0]), prompts.slice(before[1])]);
      expect(seen).toContain("I like rain.");
      expect(seen).not.toContain(canary);
      expect((await facts(anna)).map(({ content }) => content)).toEqual([`Likes ${canary} zeppelins.`]);
    });
  });
}

/** A handler on a store, whose manager learns after each answer, and a user of its own. */
function start(store: object) {
  const learned: ExtractRequest[] = [];
  const script: Say[] = [];
  const { model, prompts } = scriptedModel(() => script.shift() ?? "Noted.");
  const extract = (request: ExtractRequest) => {
    learned.push(request);
    return request.messages.filter(({ role }) => role === "user").flatMap((message) => editsOf(message, request));
  };
  const manager = SessionManager.create(store)
    .withContext("facts", { provider: new AgentSearchProvider(store, { scope: "user" }) })
    .withSearchableHistory("history")
    .onLearning(createLearnFunction({ extract }), { idleAfter: Infinity });
  const handler = chatHandler({
    sessions: manager,
    model,
    recall: { maxTokens: 500 },
    authenticate: (request) => ({ userId: request.headers.get("authorization") ?? "" }),
  });
  const own = crypto.randomUUID();
  const chatOf = (userId: string, chat: string) => `${chat}-${userId}`;
  const ask = async (userId: string, method: string, path: string, body?: unknown) => {
    const work: Promise<unknown>[] = [];
    const init = {
      method,
      headers: { authorization: userId },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const response = await handler(new Request(API + path, init), { waitUntil: (each) => work.push(each) });
    const text = await response.text();
    await Promise.all(work);
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  };
  return {
    user: own,
    manager,
    learned,
    prompts,
    /** What the model says next. */
    script,
    ask,
    say: (userId: string, chat: string, id: string, text: string) => {
      const message: UIMessage = { id, role: "user", parts: [{ type: "text", text }] };
      return ask(userId, "POST", "", { id: chatOf(userId, chat), message });
    },
    facts: async (userId: string) => ((await ask(userId, "GET", "/memory")).body as ChatFacts).facts,
    at: (key: string) => `/memory/fact?${new URLSearchParams({ label: "facts", key })}`,
    /** Lets the next answer learn from all messages of a chat. */
    learnAnew: (userId: string, chat: string) =>
      manager.forUser(userId).store.records.delete({ sessionId: chatOf(userId, chat), label: "learning" }, "state"),
  };
}

/** "I live in X." and "I like X." */
function editsOf({ id, parts }: ExtractRequest["messages"][number], { entries }: ExtractRequest): LearnEdit[] {
  const [, verb, rest] = /^I (live|like) ([^?]+)$/.exec(parts[0]?.text ?? "") ?? [];
  if (verb === undefined) return [];
  const content = `${verb === "live" ? "Lives" : "Likes"} ${rest}`;
  const subject = verb === "live" ? "home" : "likes";
  const supersedes = verb === "live" ? entries.filter((entry) => entry.subject === "home").map(({ key }) => key) : [];
  return [{ action: "add", label: "facts", key: `${verb} ${id}`, content, subject, supersedes, messageIds: [id] }];
}
