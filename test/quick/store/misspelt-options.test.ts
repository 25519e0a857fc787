import { describe, expect, it } from "vitest";
import { postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { FileSkillProvider } from "../../../packages/session/src/context/providers/skills-node.js";
import { copyStore } from "../../../packages/stemma/src/copy.js";
import { instrument } from "../../../packages/stemma/src/opentelemetry.js";
import {
  AgentSessionProvider,
  createLearnFunction,
  R2SkillProvider,
  Session,
  SessionManager,
  type SkillBucket,
} from "../../../packages/stemma/src/session.js";
import { createCompactFunction, truncateOlderMessages } from "../../../packages/stemma/src/utils.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { memory } from "../../../packages/store/src/memory.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";

const store = memory();
const session = () => Session.create(store);
const manager = () => SessionManager.create(store);
const bucket = Object.fromEntries(
  ["list", "head", "get", "put"].map((name) => [name, async () => null]),
) as unknown as SkillBucket;
const nothing = async () => null;
const nobody = async () => [];

/** Each is given the options that it takes, with one that nothing takes. */
const CALLS: Record<string, (options: never) => unknown> = {
  "new Session()": (options) => new Session(new AgentSessionProvider(store), options),
  "a block of the context": (block) => new Session(new AgentSessionProvider(store), { context: [block] }),
  "withContext()": (options) => session().withContext("memory", options),
  "withContext() of a manager": (options) => manager().withContext("memory", options),
  "addContext()": (options) => session().addContext("memory", options),
  "onCompaction()": (options) => session().onCompaction(nothing, options),
  "compactAfter()": (options) => session().compactAfter(1000, options),
  "compactAfter() of a manager": (options) => manager().compactAfter(1000, options),
  "onLearning()": (options) => session().onLearning(nobody, options),
  "appendMessage()": (options) => session().appendMessage(textMessage("a"), null, options),
  "appendAll()": (options) => session().appendAll([textMessage("a")], null, options),
  "setActiveLeaf()": (options) => session().setActiveLeaf("a", options),
  "getHistory()": (options) => session().getHistory(null, options),
  "history()": (options) => session().history(options),
  "getRecentHistory()": (options) => session().getRecentHistory(10, options),
  "a search": (options) => session().search("tea", options),
  "replaceContextBlock()": (options) => session().replaceContextBlock("memory", "x", options),
  "getBlockHistory()": (options) => session().getBlockHistory("memory", options),
  "restoreBlock()": (options) => session().restoreBlock("memory", 1, options),
  "revertFrom()": (options) => session().revertFrom("a", options),
  "getTurns()": (options) => session().getTurns(options),
  "update()": (change) => manager().update("s", change),
  "delete()": (options) => manager().delete("s", options),
  "eraseUser()": (options) => manager().eraseUser("u", options),
  "createCompactFunction()": (options) => createCompactFunction(Object.assign(options, { summarize: () => "" })),
  "createLearnFunction()": (options) => createLearnFunction(Object.assign(options, { extract: nothing })),
  "truncateOlderMessages()": (options) => truncateOlderMessages([], options),
  "sqlite()": (options) => sqlite(":memory:", options),
  "postgres()": (options) => postgres("postgres://localhost/none", options),
  "durableObject()": (options) => durableObject({} as never, options),
  "copyStore()": (options) => copyStore(store, memory(), options),
  "instrument()": (options) => instrument(store, options),
  "check()": (options) => store.check?.(options),
  "backup()": (options) => store.backup("never-written.db", options),
  "scrub()": (options) => store.scrub?.(options),
  "schemaSql()": (options) => schemaSql(options),
  FileSkillProvider: (options) => new FileSkillProvider("skills", options),
  R2SkillProvider: (options) => new R2SkillProvider(bucket, options),
};

describe("a misspelt option", () => {
  it.each(Object.entries(CALLS))("of %s is refused, with those that there are", async (_, call) => {
    const message = expect.stringMatching(/^The options of .* are \w+.*; "dryrun" is none of them\.$/);
    const refused = { code: "INVALID_ARGUMENT", message, details: { option: "dryrun" } };
    await expect((async () => call({ dryrun: true } as never))()).rejects.toMatchObject(refused);
  });

  it("is refused before anything is written", async () => {
    expect(await store.sessions.list({})).toMatchObject({ sessions: [] });
  });
});

it("a whole configuration of a block can be given, with its label", () => {
  const block = { label: "memory", description: "Facts", maxTokens: 100 };
  expect(() => session().withContext(block.label, block)).not.toThrow();
  expect(() => manager().withContext(block.label, block)).not.toThrow();
  expect(() => new Session(new AgentSessionProvider(store), { context: [block] })).not.toThrow();
});

it("is refused by Session.create(), which takes none", () => {
  const create = Session.create as (host: unknown, options?: unknown) => Session;
  expect(() => create(store, { sessionId: "s" })).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: expect.stringContaining("forSession()") }),
  );
  expect(() => create(store, undefined)).not.toThrow();
});
