import {
  cleanupSessions,
  createBuiltinTools,
  createSession,
  createSessionStorage,
  forkSession,
  RedisSessionStorage,
  resumeSession,
  SqliteSessionStorage,
} from "../../packages/stemma/src/agent.js";
import {
  chatHandler,
  lint,
  receive,
  repair,
  respond,
  sessionMemory,
  stemmaMiddleware,
} from "../../packages/stemma/src/ai-sdk.js";
import { memoryTool } from "../../packages/stemma/src/claude.js";
import { StemmaClient } from "../../packages/stemma/src/client.js";
import { copyStore } from "../../packages/stemma/src/copy.js";
import { durableObject } from "../../packages/stemma/src/durable-object.js";
import { evaluateRecall } from "../../packages/stemma/src/eval.js";
import { readSessionFile } from "../../packages/stemma/src/formats.js";
import { StemmaSaver, StemmaStore } from "../../packages/stemma/src/langgraph.js";
import { localModel } from "../../packages/stemma/src/local.js";
import { createMcpServer } from "../../packages/stemma/src/mcp.js";
import { memory } from "../../packages/stemma/src/memory.js";
import { instrument } from "../../packages/stemma/src/opentelemetry.js";
import { postgres, schemaSql } from "../../packages/stemma/src/postgres.js";
import {
  AuditLog,
  authenticator,
  createServer,
  guard,
  Quotas,
  RateLimits,
  Tenants,
  UserTokens,
} from "../../packages/stemma/src/server.js";
import {
  AgentContextProvider,
  AgentSearchProvider,
  AgentSessionProvider,
  consolidate,
  createLearnFunction,
  R2SkillProvider,
  Session,
  SessionManager,
  type SkillBucket,
} from "../../packages/stemma/src/session.js";
import { FileSkillProvider } from "../../packages/stemma/src/skills-node.js";
import { sqlite } from "../../packages/stemma/src/sqlite.js";
import { createStudio } from "../../packages/stemma/src/studio.js";
import { createCompactFunction, findTailStart, truncateOlderMessages } from "../../packages/stemma/src/utils.js";
import { createWorker, userMemory } from "../../packages/stemma/src/worker.js";
import { textMessage } from "../helpers/messages.js";

export const store = memory();
const session = () => Session.create(store);
const manager = () => SessionManager.create(store);
const bucket = Object.fromEntries(
  ["list", "head", "get", "put"].map((name) => [name, async () => null]),
) as unknown as SkillBucket;
const nothing = async () => null;
const nobody = async () => [];
const message = textMessage("a");
const request = new Request("http://host/", { method: "POST", body: "{}" });

/** Every public function and method that takes options, by its name in `api.txt`, called with those it is given. */
export const OPTION_CALLS: Record<string, (options: never) => unknown> = {
  "new Session": (options) => new Session(new AgentSessionProvider(store), options),
  "Session.withContext": (options) => session().withContext("memory", options),
  "Session.addContext": (options) => session().addContext("memory", options),
  "Session.onCompaction": (options) => session().onCompaction(nothing, options),
  "Session.compactAfter": (options) => session().compactAfter(1000, options),
  "Session.onLearning": (options) => session().onLearning(nobody, options),
  "Session.appendMessage": (options) => session().appendMessage(message, null, options),
  "Session.appendAll": (options) => session().appendAll([message], null, options),
  "Session.setActiveLeaf": (options) => session().setActiveLeaf("a", options),
  "Session.getHistory": (options) => session().getHistory(null, options),
  "Session.history": (options) => session().history(options),
  "Session.getRecentHistory": (options) => session().getRecentHistory(10, options),
  "Session.getMessage": (options) => session().getMessage("a", options),
  "Session.search": (options) => session().search("tea", options),
  "Session.searchPage": (options) => session().searchPage("tea", options),
  "Session.searchGroups": (options) => session().searchGroups("tea", options),
  "Session.replaceContextBlock": (options) => session().replaceContextBlock("memory", "x", options),
  "Session.getBlockHistory": (options) => session().getBlockHistory("memory", options),
  "Session.restoreBlock": (options) => session().restoreBlock("memory", 1, options),
  "Session.revertFrom": (options) => session().revertFrom("a", options),
  "Session.recall": (options) => session().recall("tea", options),
  "Session.prepareTurn": (options) => session().prepareTurn(options),
  "Session.explainContext": (options) => session().explainContext(options),
  "Session.getTurns": (options) => session().getTurns(options),
  "new SessionManager": (options) => new SessionManager(store, options),
  "SessionManager.withContext": (options) => manager().withContext("memory", options),
  "SessionManager.onCompaction": (options) => manager().onCompaction(nothing, options),
  "SessionManager.compactAfter": (options) => manager().compactAfter(1000, options),
  "SessionManager.onLearning": (options) => manager().onLearning(nobody, options),
  "SessionManager.create": (options) => manager().create("x", options),
  "SessionManager.listPage": (options) => manager().listPage(options),
  "SessionManager.update": (options) => manager().update("s", options),
  "SessionManager.delete": (options) => manager().delete("s", options),
  "SessionManager.eraseUser": (options) => manager().eraseUser("u", options),
  "SessionManager.learnDue": (options) => manager().learnDue(options),
  "SessionManager.retain": (options) => manager().retain(options),
  "SessionManager.append": (options) => manager().append("s", message, null, options),
  "SessionManager.appendAll": (options) => manager().appendAll("s", [message], null, options),
  "SessionManager.getHistory": (options) => manager().getHistory("s", null, options),
  "SessionManager.fork": (options) => manager().fork("s", "a", "x", options),
  "SessionManager.getUsage": (options) => manager().getUsage(options),
  "SessionManager.search": (options) => manager().search("tea", options),
  "SessionManager.searchPage": (options) => manager().searchPage("tea", options),
  "SessionManager.searchGroups": (options) => manager().searchGroups("tea", options),
  "SessionManager.recall": (options) => manager().recall("tea", options),
  "Store.consolidate": (options) => store.forUser("u").consolidate(options),
  "Store.check": (options) => store.check?.(options),
  "Store.backup": (options) => store.backup("never-written.db", options),
  "Store.scrub": (options) => store.scrub?.(options),
  "EmbeddableStore.withEmbedder": (options) => store.withEmbedder(options),
  "RerankableStore.withReranker": (options) => store.withReranker(() => [], options),
  "new AgentContextProvider": (options) => new AgentContextProvider(store, "memory", options),
  "new AgentSearchProvider": (options) => new AgentSearchProvider(store, options),
  "AgentSearchProvider.list": (options) => new AgentSearchProvider(store).list(options),
  "AgentSearchProvider.set": (options) => new AgentSearchProvider(store).set("tea", "x", undefined, options),
  "AgentSearchProvider.append": (options) => new AgentSearchProvider(store).append("tea", "x", options),
  "AgentSearchProvider.delete": (options) => new AgentSearchProvider(store).delete("tea", options),
  "AgentSearchProvider.versions": (options) => new AgentSearchProvider(store).versions("tea", options),
  "AgentSearchProvider.find": (options) => new AgentSearchProvider(store).find("tea", options),
  "new R2SkillProvider": (options) => new R2SkillProvider(bucket, options),
  "new FileSkillProvider": (options) => new FileSkillProvider("skills", options),
  consolidate: (options) => consolidate.call(store.forUser("u"), options),
  createCompactFunction,
  createLearnFunction,
  findTailStart: (options) => findTailStart([], options),
  truncateOlderMessages: (options) => truncateOlderMessages([], options),
  sqlite: (options) => sqlite(":memory:", options),
  memory,
  postgres: (options) => postgres("postgres://localhost/none", options),
  schemaSql,
  localModel,
  "new StemmaClient": (options) => new StemmaClient(options),
  durableObject: (options) => durableObject({} as never, options),
  chatHandler,
  lint: (options) => lint([], "any", options),
  repair: (options) => repair([], "any", options),
  receive: (options) => receive(session(), request, options),
  respond: (options) => respond(session(), {} as never, options),
  sessionMemory: (options) => sessionMemory(session(), options),
  stemmaMiddleware,
  "AgentSession.receive": async (options) => (await createSession()).receive(options).next(),
  "new RedisSessionStorage": (options) => new RedisSessionStorage("redis://localhost", options),
  "new SqliteSessionStorage": (options) => new SqliteSessionStorage(":memory:", options).list(),
  cleanupSessions: (options) => cleanupSessions(store, options),
  createBuiltinTools,
  createSession,
  createSessionStorage: (options) => createSessionStorage("file", Object.assign(options, { directory: "sessions" })),
  forkSession: (options) => forkSession("s", options),
  resumeSession: (options) => resumeSession("s", options),
  createStudio: (options) => createStudio(store, options),
  createMcpServer: (options) => createMcpServer(store, options),
  readSessionFile: (options) => readSessionFile("chats.json", options).next(),
  evaluateRecall: (options) => evaluateRecall({ name: "none", conversations: [] }, options),
  copyStore: (options) => copyStore(store, memory(), options),
  instrument: (options) => instrument(store, options),
  memoryTool: (options) => memoryTool(session(), options),
  "new StemmaSaver": (options) => new StemmaSaver(store, options),
  "new StemmaStore": (options) => new StemmaStore(store, options),
  createServer: (options) =>
    createServer(store, { authenticate: () => ({ id: "key", access: "memory" }), ...(options as object) }),
  createWorker: (options) =>
    createWorker(() => ({
      namespace: { idFromName: () => "", get: () => ({ fetch: async () => new Response() }) },
      authenticate: () => ({ id: "key", access: "memory" as const }),
      ...(options as object),
    })).fetch(new Request("https://memory.example.com"), {}),
  userMemory: (options) => userMemory({} as never, options),
  guard: (options) => guard(store, { id: "key", access: "memory" }, options),
  authenticator,
  "new AuditLog": (options) => new AuditLog(store, options),
  "new Quotas": (options) => new Quotas(store, options),
  "new RateLimits": (options) => new RateLimits(options),
  "new Tenants": (options) => new Tenants(() => store, options),
  "new UserTokens": (options) => new UserTokens(store, options),
};

/** The error of a call with an option that nothing takes. */
export async function refusalOf(name: string): Promise<Error | null> {
  try {
    await OPTION_CALLS[name]?.({ dryrun: true } as never);
  } catch (error) {
    return error as Error;
  }
  return null;
}

/** The names of the options that a function takes, as its error lists them. */
export async function optionsOf(name: string): Promise<string[]> {
  const [, names = ""] =
    /^The options of .* are (.*); "dryrun" is none/.exec((await refusalOf(name))?.message ?? "") ?? [];
  return names === "none yet" ? [] : names.split(", ");
}
