import { streamText, wrapLanguageModel } from "ai";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { chatHandler, stemmaMiddleware } from "../../packages/stemma/src/ai-sdk.js";
import { copyStore, exportStore } from "../../packages/stemma/src/copy.js";
import { exportSession } from "../../packages/stemma/src/formats.js";
import { guard } from "../../packages/stemma/src/server.js";
import {
  createLearnFunction,
  type ExtractRequest,
  type LearnRequest,
  SessionManager,
} from "../../packages/stemma/src/session.js";
import { createStudio } from "../../packages/stemma/src/studio.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { memory } from "../../packages/store/src/memory.js";
import { scriptedModel } from "../ai-sdk/scripted-model.js";
import { connect } from "../mcp/connect.js";
import { collected } from "../telemetry/collected.js";
import { canary, chatOf, managerOf, OWNERS, ownersIn, plant, QUESTION, storeOf } from "./canaries.js";

const USERS = ["ada", "bob"] as const;
type User = (typeof USERS)[number];

const other = (user: User): User => (user === "ada" ? "bob" : "ada");

async function textOf(pieces: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const piece of pieces) text += piece;
  return text;
}

/** Registers a canary run: each surface is driven as each user, and shows no word of another one. */
export function describeCanaries(name: string, open: () => Promise<Store> | Store): void {
  describe(name, () => {
    let base: Store;
    let store: Store;
    let telemetry: ReturnType<typeof collected>;
    const told: unknown[] = [];
    const printed: unknown[] = [];

    beforeEach(async () => {
      told.length = 0;
      printed.length = 0;
      for (const level of ["log", "warn", "error", "info", "debug"] as const) {
        vi.spyOn(console, level).mockImplementation((...values) => void printed.push(values));
      }
      base = await open();
      telemetry = collected({ onEvent: (event) => told.push(event) }, base);
      store = telemetry.store;
      for (const owner of OWNERS) await plant(store, owner);
    });
    afterEach(async () => {
      const spans = telemetry.spans().map(({ name, attributes, events, status }) => [name, attributes, events, status]);
      expect(spans.length).toBeGreaterThan(100);
      expect([ownersIn(spans), ownersIn(told), ownersIn(await telemetry.metrics()), ownersIn(printed)]).toEqual([
        [],
        [],
        [],
        [],
      ]);
      vi.restoreAllMocks();
      await base.close();
    });

    /** What each way showed a user, errors included, by its name. */
    async function shownBy(ways: Record<string, () => unknown>): Promise<Record<string, unknown>> {
      const shown: Record<string, unknown> = {};
      for (const [way, call] of Object.entries(ways)) {
        shown[way] = await Promise.resolve()
          .then(call)
          .catch((error: unknown) => error);
      }
      return shown;
    }

    const ownersOf = (shown: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(shown).map(([way, each]) => [way, ownersIn(each)]));

    /** Ways that showed the user's own words, and none that showed others'. */
    function expectOnly(user: User, shown: Record<string, unknown>, own: readonly string[]): void {
      const owners = ownersOf(shown);
      expect(Object.entries(owners).filter(([, found]) => found.some((owner) => owner !== user))).toEqual([]);
      for (const way of own) expect([way, owners[way]]).toEqual([way, [user]]);
    }

    it.each(USERS)("shows %s no word of others in turns, recalls, searches, tools and reads", async (user) => {
      const own = storeOf(store, user);
      const manager = managerOf(own);
      const session = manager.getSession("new chat");
      await session.appendMessage({ id: "q", role: "user", parts: [{ type: "text", text: QUESTION }] });
      const stranger = manager.getSession(chatOf(other(user)));
      const all = managerOf(store);
      const facts = { sessionId: "", label: "facts", scope: "user" } as const;
      const tools = { ...(await manager.tools()), ...(await session.tools()) };
      const reads = [
        {},
        { includeEnded: true, includeExpired: true },
        { asOf: "2020-06-01" },
        { knownAt: "2999-01-01" },
      ];
      const theirs = canary(other(user), "message");
      const ways: Record<string, () => unknown> = {
        turn: () => session.prepareTurn({ recall: { maxTokens: 5000 } }),
        "turn of all": () => all.getSession("new chat").prepareTurn({ recall: { maxTokens: 5000, userId: user } }),
        "turn of another": () => stranger.prepareTurn({ recall: { maxTokens: 5000 } }),
        prompt: () => session.refreshSystemPrompt(),
        recall: () => manager.recall(QUESTION, { maxTokens: 5000 }),
        "recall of a session": () => session.recall(QUESTION, { maxTokens: 5000 }),
        "recall of all": () => all.recall(QUESTION, { maxTokens: 5000, userId: user }),
        "recall of another": () => manager.recall(QUESTION, { userId: other(user) }),
        "recall of nobody": () => all.recall(QUESTION),
        search: () => manager.search(QUESTION),
        "search of their words": () => manager.search(theirs),
        "search of another": () => stranger.search(QUESTION),
        "search of named sessions": () => manager.search(QUESTION, { sessionIds: OWNERS.map(chatOf) }),
        groups: () => manager.searchGroups(QUESTION, { groupBy: "session" }),
        list: () => manager.list(),
        "history of another": () => stranger.getHistory(),
        "summaries of another": () => stranger.getCompactions(),
        "blocks of a session": () => session.getContextBlocks(),
        "versions of a block": () => session.getBlockHistory("memory"),
        "versions of an entry": () => session.getBlockHistory("facts", { key: "held" }),
        "versions of what was forgotten": () => session.getBlockHistory("facts", { key: "forgotten" }),
        entries: () => Promise.all(reads.map((view) => own.entries.list(facts, view))),
        "found entries": () =>
          Promise.all(reads.map((view) => own.entries.search(facts, QUESTION, { ...view, limit: 100 }))),
        "entries of nobody": () => store.entries.list(facts, reads[1]),
        labels: () => Promise.all([own.entries.labels({ sessionId: "", scope: "user" }), own.entries.removed(facts)]),
        export: () => exportSession(own, "new chat"),
        "export of another": () => exportSession(own, chatOf(other(user))),
      };
      for (const [name, { execute }] of Object.entries(tools)) {
        for (const input of [
          { query: QUESTION },
          { label: "facts", query: QUESTION },
          { label: "papers", query: QUESTION },
          { label: "facts", key: "held" },
          { id: "1", sessionId: chatOf(other(user)) },
        ]) {
          ways[`tool ${name} ${Object.keys(input)} ${input.label}`] = () => execute(input as never);
        }
      }
      const searches = ["search", "groups", "search of named sessions", "found entries"];
      expectOnly(user, await shownBy(ways), [
        ...["turn", "prompt", "recall", "recall of a session", "recall of all", "list", "blocks of a session"],
        ...["versions of a block", "versions of an entry", "versions of what was forgotten", "entries"],
        ...(store.capabilities.search ? searches : []),
        "tool search_context label,query facts",
        "tool recall query undefined",
      ]);
      // What is kept under a key is shown to who names it, and nobody else's beside it.
      const named = await manager.recall(QUESTION, { keys: ["team"], maxTokens: 5000 });
      expect(ownersIn(named)).toEqual([user, "team"]);
    });

    it.each(USERS)("shows %s no word of others over HTTP, also not to the model", async (user) => {
      const { model, prompts } = scriptedModel(() => "Hi.");
      const errors: unknown[] = [];
      const waiting: Promise<unknown>[] = [];
      const learned: LearnRequest[] = [];
      const handler = chatHandler({
        sessions: managerOf(store).onLearning(async (request) => {
          learned.push(request);
          return [];
        }),
        model,
        authenticate: () => ({ userId: user }),
        recall: { maxTokens: 5000 },
        onError: (error) => String(errors.push(error)),
      });
      const ask = async (method: string, path: string, body?: unknown) => {
        const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
        const context = { waitUntil: (work: Promise<unknown>) => void waiting.push(work) };
        const response = await handler(new Request(`http://chat.example/api/chat${path}`, init), context);
        return [response.status, await response.text()];
      };
      const message = { id: "q", role: "user", parts: [{ type: "text", text: QUESTION }] };
      const query = encodeURIComponent(QUESTION);
      const at = (id: string) => `/${encodeURIComponent(id)}`;
      const ways: Record<string, () => unknown> = {
        submit: () => ask("POST", "", { id: "new", messages: [message], trigger: "submit-message" }),
        "submit to another": () =>
          ask("POST", "", { id: chatOf(other(user)), messages: [message], trigger: "submit-message" }),
        chats: () => ask("GET", ""),
        "chats by words": () => ask("GET", `?q=${query}`),
        recall: () => ask("GET", `?recall=${query}&maxTokens=5000`),
        memory: () => ask("GET", "/memory?limit=100"),
        export: () => ask("GET", "/memory/export"),
        own: () => ask("GET", at(chatOf(user))),
        "blocks of a chat": () => ask("GET", `${at(chatOf(user))}/memory`),
      };
      for (const key of ["held", "ended", "closed", "expired", "forgotten"]) {
        ways[`fact ${key}`] = () => ask("GET", `/memory/fact?label=facts&key=${key}`);
      }
      for (const id of OWNERS.filter((owner) => owner !== user).map(chatOf)) {
        for (const path of ["", "/memory", "/stream"]) ways[`GET ${id}${path}`] = () => ask("GET", `${at(id)}${path}`);
        ways[`PATCH ${id}`] = () => ask("PATCH", at(id), { name: "mine" });
        ways[`DELETE ${id}`] = () => ask("DELETE", at(id));
        ways[`select ${id}`] = () => ask("POST", `${at(id)}/select`, { messageId: "a1" });
      }
      ways["no such fact"] = () => ask("GET", `/memory/fact?label=papers&key=paper`);
      ways.change = () => ask("PATCH", "/memory/fact?label=facts&key=held", { version: 1 });
      ways.forget = () => ask("DELETE", "/memory/fact?label=facts&key=ended");
      const shown = await shownBy(ways);
      await Promise.all(waiting);
      expectOnly(user, { ...shown, prompts, errors }, [
        ...[
          "recall",
          "memory",
          "export",
          "own",
          "blocks of a chat",
          "fact held",
          "fact forgotten",
          "change",
          "prompts",
        ],
        ...(store.capabilities.search ? ["chats by words"] : []),
      ]);
      // After an answer it learns from the chats of all that are due: from each apart.
      expect(learned.length).toBeGreaterThan(0);
      for (const request of learned) expect(ownersIn(request).length).toBeLessThan(2);
      // And what was tried on others changed nothing of theirs.
      const theirs = storeOf(store, other(user));
      expect((await theirs.sessions.get(chatOf(other(user))))?.name).toContain(canary(other(user), "name"));
    });

    it.each(USERS)("shows %s's model no word of others through the middleware", async (user) => {
      const { model, prompts } = scriptedModel(() => "Hi.");
      const manager = managerOf(store);
      const call = async (sessionId: string) => {
        const middleware = stemmaMiddleware({
          sessions: manager,
          sessionId,
          userId: user,
          recall: { maxTokens: 5000 },
        });
        return streamText({ model: wrapLanguageModel({ model, middleware }), prompt: QUESTION, onError() {} }).text;
      };
      const shown = await shownBy({ own: () => call("new chat"), another: () => call(chatOf(other(user))) });
      expectOnly(user, { ...shown, prompts }, ["prompts"]);
      expect(shown.another).toBeInstanceOf(Error);
    });

    it.each(USERS)("shows %s no word of others through MCP", async (user) => {
      const errors: unknown[] = [];
      const client = await connect(store, { userId: user, onError: (error) => errors.push(error) });
      const tool = (name: string, args: object) => client.callTool({ name, arguments: { ...args } });
      const ids = [user, other(user), "nobody"].flatMap((owner) => [
        `session/${encodeURIComponent(`chat of ${owner}`)}`,
        `session/${encodeURIComponent(`chat of ${owner}`)}/message/u1`,
        `session/${encodeURIComponent(`chat of ${owner}`)}/block/notes`,
      ]);
      const ways: Record<string, () => unknown> = {
        search: () => tool("search", { query: QUESTION }),
        "search of theirs": () => tool("search", { query: "telescope", session: chatOf(other(user)) }),
        recall: () => tool("recall", { query: QUESTION }),
        recent: () => tool("recent", {}),
        list: () => tool("list_sessions", {}),
        resources: () => client.listResources(),
        "block memory": () => tool("fetch", { id: "block/memory" }),
        "entry held": () => tool("fetch", { id: "entry/facts/held" }),
        "entry forgotten": () => tool("fetch", { id: "entry/facts/forgotten" }),
        forget: () => tool("forget", { id: "entry/facts/ended" }),
        remember: () => tool("remember", { title: "held", text: "A new one." }),
      };
      for (const id of ids) {
        ways[`fetch ${id}`] = () => tool("fetch", { id });
        ways[`read ${id}`] = () => client.readResource({ uri: `stemma://${id}` });
      }
      const own = [`fetch session/${encodeURIComponent(chatOf(user))}/message/u1`, "recall", "list", "entry held"];
      expectOnly(user, { ...(await shownBy(ways)), errors }, [...own, "block memory", "resources"]);
      await client.close();
    });

    it.each(USERS)("shows %s no word of others in exports, copies and the studio", async (user) => {
      const principal = { id: "key", access: "memory", userId: user } as const;
      const own = { "a user's store": storeOf(store, user), "a guard": guard(store, principal) };
      const ways: Record<string, () => unknown> = {};
      for (const [of, from] of Object.entries(own)) {
        ways[`export of ${of}`] = async () => textOf(exportStore(from));
        ways[`copy of ${of}`] = async () => {
          const copy = memory();
          const report = await copyStore(from, copy);
          return [report, await textOf(exportStore(copy))];
        };
      }
      const errors: unknown[] = [];
      const options = { authorize: () => ({ userId: user }), onError: (error: unknown) => errors.push(error) };
      const studios = { store: createStudio(store, options), manager: createStudio(managerOf(store), options) };
      const owners = [
        ...["ada", "bob"].map((name) => `user=${name}`),
        ...OWNERS.map((owner) => `session=${encodeURIComponent(chatOf(owner))}`),
        "key=team",
      ];
      const at = (owner: string) => `id=${encodeURIComponent(chatOf(owner as "ada"))}`;
      const paths = [
        ...["info", "sessions", "usage?by=session", "usage?by=day", "owners?kind=user", "owners?kind=key"],
        `search?q=${encodeURIComponent(QUESTION)}`,
        ...owners.flatMap((owner) => [
          `memory?${owner}`,
          ...["facts", "papers", "memory", "notes"].map((label) => `entries?${owner}&label=${label}`),
          ...["held", "ended", "closed", "forgotten"].map((key) => `entry?${owner}&label=facts&entry=${key}`),
          `versions?${owner}&label=facts&entry=forgotten`,
          `versions?${owner}&label=memory`,
          `versions?${owner}&label=notes`,
        ]),
        ...OWNERS.flatMap((owner) => [
          ...["session", "change", "messages", "tree", "turns", "context"].map((route) => `${route}?${at(owner)}`),
          ...["jsonl", "markdown", "html"].map((format) => `export?${at(owner)}&format=${format}`),
          `writes?${at(owner)}&message=u1`,
          `search?q=telescope&session=${encodeURIComponent(chatOf(owner))}`,
        ]),
      ];
      for (const [of, studio] of Object.entries(studios)) {
        for (const path of paths) {
          ways[`studio of a ${of} ${path}`] = async () =>
            (await studio(new Request(`http://studio.example/studio/api/${path}`))).text();
        }
      }
      const seen = `studio of a store`;
      expectOnly(user, { ...(await shownBy(ways)), errors }, [
        ...["export of a user's store", "copy of a user's store"],
        ...["sessions", `memory?user=${user}`, `entry?user=${user}&label=facts&entry=held`].map(
          (path) => `${seen} ${path}`,
        ),
        ...[`messages?${at(user)}`, `export?${at(user)}&format=html`].map((path) => `${seen} ${path}`),
        ...(store.capabilities.search ? [`${seen} search?q=${encodeURIComponent(QUESTION)}`] : []),
      ]);
    });

    it("shows who learns the words of one owner at a time, also in what is learned and told", async () => {
      const asked: { readonly request: ExtractRequest; readonly prompt: string }[] = [];
      const learn = createLearnFunction({
        extract: (request) => {
          asked.push({ request, prompt: request.prompt });
          const ids = request.messages.map(({ id }) => id).slice(-1);
          return request.entries.map(({ key, content }) => ({
            action: "add",
            label: "facts",
            key: `new ${key}`,
            content: `${content} Again.`,
            subject: "home",
            supersedes: request.entries.map((entry) => entry.key),
            messageIds: ids,
          }));
        },
      });
      const told: unknown[] = [];
      for (const user of USERS) {
        const manager = managerOf(storeOf(store, user)).onLearning(learn, { idleAfter: Number.POSITIVE_INFINITY });
        const session = manager.getSession(chatOf(user));
        const events: unknown[] = [];
        session.subscribe((event) => events.push(event));
        const receipt = await manager.learnDue();
        told.push(receipt);
        expect([receipt.failed, receipt.sessions]).toEqual([[], 1]);
        expect(ownersIn(events).filter((owner) => owner !== user)).toEqual([]);
        expect(ownersIn(asked.splice(0))).toEqual([user]);
      }
      for (const id of ["more of ada", "more of bob"]) {
        const own = storeOf(store, id.endsWith("ada") ? "ada" : "bob");
        await managerOf(own).append(id, { id: "m", role: "user", parts: [{ type: "text", text: QUESTION }] });
      }
      const receipt = await managerOf(store).onLearning(learn).learnDue();
      expect(asked.splice(0).map(ownersIn).toSorted()).toEqual([["ada"], ["bob"]]);
      // Nobody has no memory of their own.
      expect([receipt.failed, receipt.withoutUser]).toEqual([[], 1]);
      told.push(receipt, await SessionManager.create(store).withContext("notes").onLearning(learn).learnDue());
      expect(asked.map(ownersIn)).toEqual([["nobody"]]);
      for (const user of USERS) {
        const facts = { sessionId: "", label: "facts", scope: "user" } as const;
        const all = await storeOf(store, user).entries.list(facts, { includeEnded: true, includeExpired: true });
        expect([ownersIn(all), all.some(({ content }) => content.endsWith("Again."))]).toEqual([[user], true]);
      }
      expect(ownersIn(told)).toEqual([]);
    });
  });
}
