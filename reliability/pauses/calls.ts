import { createReadStream } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { message } from "../../packages/conformance/src/samples.js";
import { createCompactFunction } from "../../packages/model/src/compaction/compact.js";
import { sessionMemory } from "../../packages/stemma/src/ai-sdk.js";
import { copyStore, exportStore, jsonl } from "../../packages/stemma/src/copy.js";
import { jsonlFiles } from "../../packages/stemma/src/copy-node.js";
import { exportSession, importSession, readSessionFile, readSessions } from "../../packages/stemma/src/formats.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import { promptKey } from "../../packages/store/src/contract/store.js";
import { memory } from "../../packages/store/src/memory.js";
import { LONG, USER, type World } from "./world.js";

/** Prepares a call, and gives the work that is measured. Every name is called once: a test holds the list against the code. */
export type Call = (world: World) => (() => unknown) | Promise<() => unknown>;
export type Calls = Readonly<Record<string, Call>>;

/** Reads all that a stream gives, and keeps none of it. */
async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

/** Reads an answer to its end. Throws where it is a refusal. */
async function read(answer: Promise<Response>): Promise<void> {
  const response = await answer;
  if (!response.ok) throw new RangeError(`${response.status} ${(await response.text()).slice(0, 200)}`);
  // Not as one text: to put that together is the client's work.
  if (response.body !== null) for await (const _piece of response.body);
}

const half = ({ size }: World) => Math.floor(size / 2);

/** The long session with a summary over its first half. */
async function folded(world: World): Promise<string> {
  const { id } = await world.session.addCompaction("Orders were discussed.", world.id(0), world.id(half(world)));
  return id;
}

const one = (role = "user") => message("one", "What is due?", role);
const LEARN = async () => [];
const PROFILE = z.object({ name: z.string().optional() });
const provider = { get: async () => "" };

export const SESSION_CALLS: Calls = {
  forSession:
    ({ fresh }) =>
    () =>
      fresh(),
  forUser:
    ({ fresh }) =>
    () =>
      fresh().forUser(USER),
  withContext:
    ({ fresh }) =>
    () =>
      fresh().withContext("notes"),
  withCachedPrompt:
    ({ fresh }) =>
    () =>
      fresh().withCachedPrompt(),
  onCompaction:
    ({ fresh }) =>
    () =>
      fresh().onCompaction(async () => null),
  compactAfter:
    ({ fresh }) =>
    () =>
      fresh().compactAfter(1000),
  onCompactionError:
    ({ fresh }) =>
    () =>
      fresh().onCompactionError(() => {}),
  onLearning:
    ({ fresh }) =>
    () =>
      fresh().onLearning(LEARN),
  withTitle:
    ({ fresh }) =>
    () =>
      fresh().withTitle(async () => "Title"),
  withTitles:
    ({ fresh }) =>
    () =>
      fresh().withTitles(async () => "Title"),
  withExpandableSummaries:
    ({ fresh }) =>
    () =>
      fresh().withExpandableSummaries(),
  id:
    ({ session }) =>
    () =>
      session.id,
  appendMessage:
    ({ session }) =>
    () =>
      session.appendMessage(one()),
  editMessage: (world) => () => world.session.editMessage(world.id(0), one()),
  appendAll: ({ session, news }) => {
    const messages = news();
    return () => session.appendAll(messages);
  },
  updateMessage: (world) => () => world.session.updateMessage({ ...one(), id: world.id(0) }),
  upsertMessage: (world) => () => world.session.upsertMessage({ ...one(), id: world.id(0) }),
  deleteMessages: ({ session, ids }) => {
    const all = ids();
    return () => session.deleteMessages(all);
  },
  clearMessages:
    ({ session }) =>
    () =>
      session.clearMessages(),
  setActiveLeaf: (world) => () => world.session.setActiveLeaf(world.id(0), { context: "as-of" }),
  selectBranch: (world) => () => world.session.selectBranch(world.id(0)),
  getHistory:
    ({ session }) =>
    () =>
      session.getHistory(),
  history:
    ({ session }) =>
    () =>
      drain(session.history()),
  getRecentHistory:
    ({ session }) =>
    () =>
      session.getRecentHistory(1e9),
  getHistoryRowStats:
    ({ session }) =>
    () =>
      session.getHistoryRowStats(),
  getMessage: (world) => () => world.session.getMessage(world.id(-1)),
  getLatestLeaf:
    ({ session }) =>
    () =>
      session.getLatestLeaf(),
  getBranches: (world) => () => world.session.getBranches(world.id(0)),
  getBranchIds: (world) => () => world.session.getBranchIds(world.id(0)),
  getParent: (world) => () => world.session.getParent(world.id(-1)),
  getSiblings: (world) => () => world.session.getSiblings(world.id(1)),
  getSiblingIds: ({ session, ids }) => {
    const all = ids();
    return () => session.getSiblingIds(all);
  },
  getPathLength:
    ({ session }) =>
    () =>
      session.getPathLength(),
  getTree:
    ({ session }) =>
    () =>
      session.getTree(),
  search:
    ({ session }) =>
    () =>
      session.search("order part"),
  searchPage:
    ({ session }) =>
    () =>
      session.searchPage("order part"),
  searchGroups:
    ({ session }) =>
    () =>
      session.searchGroups("order part", { groupBy: "exchange" }),
  recall:
    ({ session }) =>
    () =>
      session.recall("order part", { userId: USER }),
  getContextBlock:
    ({ session }) =>
    async () => {
      await session.getMessage("m0");
      await session.readContextBlock("notes");
      session.getContextBlock("notes");
    },
  readContextBlock:
    ({ session }) =>
    () =>
      session.readContextBlock("notes"),
  getContextBlocks:
    ({ session }) =>
    async () => {
      await session.readContextBlock("notes");
      session.getContextBlocks();
    },
  replaceContextBlock:
    ({ session }) =>
    () =>
      session.replaceContextBlock("notes", "other"),
  appendContextBlock:
    ({ session }) =>
    () =>
      session.appendContextBlock("notes", "more"),
  readContextValue:
    ({ fresh }) =>
    () =>
      fresh().withContext("profile", { schema: PROFILE }).readContextValue("profile"),
  patchContextBlock:
    ({ fresh }) =>
    () =>
      fresh().withContext("profile", { schema: PROFILE }).patchContextBlock("profile", { name: "Ann" }),
  getBlockHistory:
    ({ session }) =>
    () =>
      session.getBlockHistory("notes"),
  restoreBlock:
    ({ session }) =>
    () =>
      session.restoreBlock("notes", 1),
  revertFrom: (world) => () => world.session.revertFrom(world.id(0)),
  addContext:
    ({ session }) =>
    () =>
      session.addContext("more"),
  removeContext:
    ({ session }) =>
    async () => {
      await session.readContextBlock("notes");
      session.removeContext("notes");
    },
  unloadSkill:
    ({ session }) =>
    () =>
      session.unloadSkill("skills", "none"),
  getLoadedSkillKeys:
    ({ session }) =>
    () =>
      session.getLoadedSkillKeys(),
  freezeSystemPrompt:
    ({ session }) =>
    () =>
      session.freezeSystemPrompt(),
  refreshSystemPrompt:
    ({ session }) =>
    () =>
      session.refreshSystemPrompt(),
  reminder:
    ({ session }) =>
    () =>
      session.reminder(),
  prepareTurn:
    ({ session }) =>
    () =>
      session.prepareTurn(),
  explainContext:
    ({ session }) =>
    () =>
      session.explainContext(),
  getTurns:
    ({ session }) =>
    () =>
      session.getTurns(),
  tools:
    ({ session }) =>
    () =>
      session.tools(),
  compact:
    ({ session }) =>
    () =>
      session.compact(),
  addCompaction: (world) => () => folded(world),
  getCompactions: async (world) => {
    await folded(world);
    return () => world.session.getCompactions();
  },
  expandCompaction: async (world) => {
    const id = await folded(world);
    return () => world.session.expandCompaction(id);
  },
  removeCompaction: async (world) => {
    const id = await folded(world);
    return () => world.session.removeCompaction(id);
  },
  close:
    ({ session }) =>
    () =>
      session.close(),
  subscribe:
    ({ session }) =>
    () =>
      session.subscribe(() => {}),
};

export const MANAGER_CALLS: Calls = {
  forUser:
    ({ manager }) =>
    () =>
      manager.forUser(USER),
  store:
    ({ manager }) =>
    () =>
      manager.store,
  withContext:
    ({ store }) =>
    () =>
      SessionManager.create(store).withContext("notes"),
  withCachedPrompt:
    ({ store }) =>
    () =>
      SessionManager.create(store).withCachedPrompt(() => provider),
  onCompaction:
    ({ store }) =>
    () =>
      SessionManager.create(store).onCompaction(async () => null),
  compactAfter:
    ({ store }) =>
    () =>
      SessionManager.create(store).compactAfter(1000),
  onCompactionError:
    ({ store }) =>
    () =>
      SessionManager.create(store).onCompactionError(() => {}),
  onLearning:
    ({ store }) =>
    () =>
      SessionManager.create(store).onLearning(LEARN),
  withTitles:
    ({ store }) =>
    () =>
      SessionManager.create(store).withTitles(async () => "Title"),
  withTitle:
    ({ store }) =>
    () =>
      SessionManager.create(store).withTitle(async () => "Title"),
  withExpandableSummaries:
    ({ store }) =>
    () =>
      SessionManager.create(store).withExpandableSummaries(),
  withSearchableHistory:
    ({ store }) =>
    () =>
      SessionManager.create(store).withSearchableHistory("past"),
  create:
    ({ manager }) =>
    () =>
      manager.create("Another"),
  get:
    ({ manager }) =>
    () =>
      manager.get(LONG),
  list:
    ({ manager }) =>
    () =>
      manager.list(),
  listPage:
    ({ manager }) =>
    () =>
      manager.listPage({ orderBy: "messages" }),
  rename:
    ({ manager }) =>
    () =>
      manager.rename(LONG, "Another name"),
  update:
    ({ manager }) =>
    () =>
      manager.update(LONG, { metadata: { project: "orders" } }),
  claim:
    ({ manager }) =>
    () =>
      manager.claim(USER, "bob"),
  delete:
    ({ manager }) =>
    () =>
      manager.delete(LONG),
  eraseUser:
    ({ manager }) =>
    () =>
      manager.eraseUser(USER),
  retain:
    ({ manager }) =>
    () =>
      manager.retain({ keepMessages: 100 }),
  scrub:
    ({ manager }) =>
    () =>
      manager.scrub(),
  getSession:
    ({ manager }) =>
    () =>
      manager.getSession(LONG),
  append:
    ({ manager }) =>
    () =>
      manager.append(LONG, one()),
  upsert:
    ({ manager }) =>
    () =>
      manager.upsert(LONG, one()),
  appendAll: ({ manager, news }) => {
    const messages = news();
    return () => manager.appendAll(LONG, messages);
  },
  editMessage: (world) => () => world.manager.editMessage(LONG, world.id(0), one()),
  selectBranch: (world) => () => world.manager.selectBranch(LONG, world.id(0)),
  getHistory:
    ({ manager }) =>
    () =>
      manager.getHistory(LONG),
  getBranches: (world) => () => world.manager.getBranches(LONG, world.id(0)),
  getParent: (world) => () => world.manager.getParent(LONG, world.id(-1)),
  getBranchIds: (world) => () => world.manager.getBranchIds(LONG, world.id(0)),
  getSiblingIds: ({ manager, ids }) => {
    const all = ids();
    return () => manager.getSiblingIds(LONG, all);
  },
  getSiblings: (world) => () => world.manager.getSiblings(LONG, world.id(1)),
  getMessageCount:
    ({ manager }) =>
    () =>
      manager.getMessageCount(LONG),
  clearMessages:
    ({ manager }) =>
    () =>
      manager.clearMessages(LONG),
  deleteMessages: ({ manager, ids }) => {
    const all = ids();
    return () => manager.deleteMessages(LONG, all);
  },
  fork: (world) => () => world.manager.fork(LONG, world.id(-1), "The fork"),
  compactAndSplit:
    ({ manager }) =>
    () =>
      manager.compactAndSplit(LONG, "Orders were discussed."),
  addCompaction: (world) => () => world.manager.addCompaction(LONG, "In short.", world.id(0), world.id(half(world))),
  getCompactions:
    ({ manager }) =>
    () =>
      manager.getCompactions(LONG),
  removeCompaction: async (world) => {
    const id = await folded(world);
    return () => world.manager.removeCompaction(LONG, id);
  },
  readContextBlock:
    ({ manager }) =>
    () =>
      manager.readContextBlock(LONG, "notes"),
  addUsage:
    ({ manager }) =>
    () =>
      manager.addUsage(LONG, 10, 5, 0.01),
  getUsage:
    ({ manager }) =>
    () =>
      manager.getUsage({ by: "session" }),
  search:
    ({ manager }) =>
    () =>
      manager.search("order part"),
  searchPage:
    ({ manager }) =>
    () =>
      manager.searchPage("order part"),
  searchGroups:
    ({ manager }) =>
    () =>
      manager.searchGroups("order part", { groupBy: "exchange" }),
  recall:
    ({ manager }) =>
    () =>
      manager.recall("order part", { userId: USER }),
  learnDue: ({ store }) => {
    const learning = SessionManager.create(store).withContext("notes").onLearning(LEARN);
    return () => learning.learnDue({ limit: 10 });
  },
  tools:
    ({ manager }) =>
    () =>
      manager.tools(),
};

const FACTS = { sessionId: LONG, label: "facts" };
const RUNS = { sessionId: LONG, label: "runs" };
const NOTES = { sessionId: LONG, kind: "block", label: "notes" } as const;
const E = { id: "e", dimensions: 2 };
const raw = ({ store }: World) => store.session(LONG);

export const STORE_CALLS: Calls = {
  session:
    ({ store }) =>
    () =>
      store.session(LONG),
  writeTogether: ({ store, news }) => {
    const append = news();
    return () => store.writeTogether([{ session: LONG, append }]);
  },
  deleteMemory:
    ({ store }) =>
    () =>
      store.deleteMemory({ sessionId: LONG }),
  pruneVersions:
    ({ store }) =>
    () =>
      store.pruneVersions({ sessionId: LONG }, { keep: 1, limit: 100 }),
  pruneExpired:
    ({ store }) =>
    () =>
      store.pruneExpired({ sessionId: LONG }, { limit: 100 }),
  consolidate:
    ({ store }) =>
    () =>
      store.consolidate({ sessionId: LONG, scope: "session", extract: () => [] }),
  scrub:
    ({ store }) =>
    () =>
      store.scrub?.(),
  once:
    ({ store }) =>
    () =>
      store.once?.({ id: "operation" }),
  forUser:
    ({ store }) =>
    () =>
      store.forUser(USER),
  search:
    ({ store }) =>
    () =>
      store.search("order part", { limit: 50 }),
  check:
    ({ store }) =>
    () =>
      store.check?.(),
  backup:
    ({ store, folder }) =>
    () =>
      store.backup(join(folder, "backup.db")),
  observeStatements:
    ({ store }) =>
    () =>
      store.observeStatements?.((connection) => connection),
  withEmbedder: () => () => {},
  withReranker: () => () => {},
  migrate:
    ({ store }) =>
    () =>
      store.migrate(),
  close:
    ({ store }) =>
    () =>
      store.close(),
  "session().append": (world) => {
    const messages = world.news();
    return () => raw(world).append(messages);
  },
  "session().appendSibling": (world) => () => raw(world).appendSibling(world.id(1), one()),
  "session().update": (world) => () => raw(world).update({ ...one(), id: world.id(0) }),
  "session().upsert": (world) => () => raw(world).upsert(one()),
  "session().delete": (world) => {
    const all = world.ids();
    return () => raw(world).delete(all);
  },
  "session().clear": (world) => () => raw(world).clear(),
  "session().importTree": ({ store, news }) => {
    const messages = news().map((given, index, all) => ({ message: given, parentId: all[index - 1]?.id ?? null }));
    return () => store.session("imported").importTree({ messages });
  },
  "session().setActiveLeaf": (world) => () => raw(world).setActiveLeaf(world.id(0)),
  "session().rewindTo": (world) => () => raw(world).rewindTo(world.id(0)),
  "session().selectBranch": (world) => () => raw(world).selectBranch(world.id(0)),
  "session().message": (world) => () => raw(world).message(world.id(0)),
  "session().leaf": (world) => () => raw(world).leaf(),
  "session().branches": (world) => () => raw(world).branches(world.id(0)),
  "session().branchIds": (world) => () => raw(world).branchIds(world.id(0)),
  "session().parent": (world) => () => raw(world).parent(world.id(-1)),
  "session().siblings": (world) => () => raw(world).siblings(world.id(1)),
  "session().siblingIds": (world) => {
    const all = world.ids();
    return () => raw(world).siblingIds(all);
  },
  "session().path": (world) => () => raw(world).path(),
  "session().stream": (world) => () => drain(raw(world).stream({ newestFirst: true })),
  "session().lines": (world) => () => drain(raw(world).lines?.({ newestFirst: true }) as AsyncIterable<string>),
  "session().recent": (world) => () => raw(world).recent(1e9, { minMessages: 1 }),
  "session().rowStats": (world) => () => raw(world).rowStats(),
  "session().length": (world) => () => raw(world).length(),
  "session().count": (world) => () => raw(world).count(),
  "session().tokens": async (world) => {
    await raw(world).update({ ...one(), id: world.id(0) });
    return () => raw(world).tokens();
  },
  "session().tree": (world) => () => raw(world).tree(),
  "session().treePage": (world) => () => raw(world).treePage({ limit: world.size }),
  "session().messages": (world) => () => drain(raw(world).messages()),
  "session().search": (world) => () => raw(world).search("order part", { limit: 50 }),
  "session().compactions": (world) => () => raw(world).compactions(),
  "session().addCompaction": (world) => () =>
    raw(world).addCompaction({
      id: "c",
      summary: "In short.",
      fromMessageId: world.id(0),
      toMessageId: world.id(half(world)),
    }),
  "session().removeCompaction": async (world) => {
    const id = await folded(world);
    return () => raw(world).removeCompaction(id);
  },
  "session().originals": async (world) => {
    const id = await folded(world);
    return () => raw(world).originals(id);
  },
  "session().skills": (world) => () => raw(world).skills(),
  "session().changeSkills": (world) => () => raw(world).changeSkills({ type: "load", label: "skills", key: "one" }),
  "session().change": (world) => () => raw(world).change(),
  "session().writes": (world) => () => raw(world).writes(world.id(0)),
  "sessions.create":
    ({ store }) =>
    () =>
      store.sessions.create({ id: "another", name: "Another" }),
  "sessions.get":
    ({ store }) =>
    () =>
      store.sessions.get(LONG),
  "sessions.list":
    ({ store }) =>
    () =>
      store.sessions.list({ orderBy: "messages" }),
  "sessions.count":
    ({ store }) =>
    () =>
      store.sessions.count(),
  "sessions.unregistered":
    ({ store }) =>
    () =>
      store.sessions.unregistered(),
  "sessions.update":
    ({ store }) =>
    () =>
      store.sessions.update(LONG, { name: "Another name" }),
  "sessions.due":
    ({ store }) =>
    () =>
      store.sessions.due(),
  "sessions.markLearned":
    ({ store }) =>
    async () =>
      store.sessions.markLearned(LONG, await store.session(LONG).change()),
  "sessions.restore":
    ({ store }) =>
    () =>
      store.sessions.restore(LONG, { updatedAt: "2030-01-01T00:00:00.000Z" }),
  "sessions.delete":
    ({ store }) =>
    () =>
      store.sessions.delete(LONG),
  "sessions.prune":
    ({ store }) =>
    () =>
      store.sessions.prune(LONG, { keepMessages: 10, limit: 100 }),
  "sessions.addUsage":
    ({ store }) =>
    () =>
      store.sessions.addUsage(LONG, 10, 5, 0.01),
  "sessions.usageRows":
    ({ store }) =>
    () =>
      store.sessions.usageRows(LONG),
  "sessions.importUsage":
    ({ store }) =>
    () =>
      store.sessions.importUsage(LONG, { inputTokens: 10, outputTokens: 5, cost: 0.01 }),
  "sessions.usage":
    ({ store }) =>
    () =>
      store.sessions.usage({ by: "session" }),
  "sessions.compactionSums":
    ({ store }) =>
    () =>
      store.sessions.compactionSums({ by: "session" }),
  "sessions.fork": (world) => () => world.store.sessions.fork(LONG, world.id(-1), { id: "fork", name: "The fork" }),
  "sessions.split":
    ({ store }) =>
    () =>
      store.sessions.split(LONG, one(), { id: "split" }),
  "sessions.claim":
    ({ store }) =>
    () =>
      store.sessions.claim(USER, "bob"),
  "blocks.get":
    ({ store }) =>
    () =>
      store.blocks.get(NOTES),
  "blocks.getMany":
    ({ store, size }) =>
    () =>
      store.blocks.getMany?.(Array.from({ length: size / 10 }, (_, index) => ({ ...NOTES, label: `notes${index}` }))),
  "blocks.set":
    ({ store }) =>
    () =>
      store.blocks.set(NOTES, "other"),
  "blocks.append":
    ({ store }) =>
    () =>
      store.blocks.append(NOTES, "more", { maxTokens: 1000 }),
  "blocks.delete":
    ({ store }) =>
    () =>
      store.blocks.delete(promptKey(LONG)),
  "blocks.versions":
    ({ store }) =>
    () =>
      store.blocks.versions(NOTES),
  "blocks.list":
    ({ store }) =>
    () =>
      store.blocks.list({ sessionId: LONG }),
  "blocks.owners":
    ({ store }) =>
    () =>
      store.blocks.owners("key"),
  "blocks.importVersions": async ({ store }) => {
    const versions = await store.blocks.versions(NOTES);
    return () => store.blocks.importVersions({ ...NOTES, label: "copied" }, versions);
  },
  "entries.count":
    ({ store }) =>
    () =>
      store.entries.count(FACTS),
  "entries.get":
    ({ store }) =>
    () =>
      store.entries.get(FACTS, "k1"),
  "entries.set":
    ({ store }) =>
    () =>
      store.entries.set(FACTS, { key: "k1", content: "other" }),
  "entries.append":
    ({ store }) =>
    () =>
      store.entries.append(FACTS, { key: "k1", content: "more" }, { maxTokens: 1000 }),
  "entries.delete":
    ({ store }) =>
    () =>
      store.entries.delete(FACTS, "k1"),
  "entries.importVersions": async ({ store }) => {
    const versions = await store.entries.versions(FACTS, "k1");
    return () => store.entries.importVersions(FACTS, "copied", versions);
  },
  "entries.versions":
    ({ store }) =>
    () =>
      store.entries.versions(FACTS, "k1"),
  "entries.labels":
    ({ store }) =>
    () =>
      store.entries.labels({ sessionId: LONG }),
  "entries.removed":
    ({ store }) =>
    () =>
      store.entries.removed({ sessionId: LONG }),
  "entries.list":
    ({ store, size }) =>
    () =>
      store.entries.list(FACTS, { limit: size }),
  "entries.search":
    ({ store }) =>
    () =>
      store.entries.search(FACTS, "fact known", { limit: 50 }),
  "records.get":
    ({ store }) =>
    () =>
      store.records.get(RUNS, "k1"),
  "records.set":
    ({ store }) =>
    () =>
      store.records.set(RUNS, "k1", new Uint8Array(10)),
  "records.delete":
    ({ store }) =>
    () =>
      store.records.delete(RUNS, "k1"),
  "records.expire":
    ({ store }) =>
    () =>
      store.records.expire?.(RUNS, "k", 1000),
  "records.list":
    ({ store, size }) =>
    () =>
      store.records.list(RUNS, { limit: size }),
  "records.labels":
    ({ store }) =>
    () =>
      store.records.labels(LONG),
  "vectors.model":
    ({ store }) =>
    () =>
      store.vectors?.model(),
  "vectors.list": async ({ store }) => {
    await store.vectors?.import(LONG, E, [{ messageId: "m0", text: "", vector: new Float32Array(2) }]);
    return () => drain(store.vectors?.list(LONG, E) ?? memory().session("").messages());
  },
  "vectors.import":
    ({ store }) =>
    () =>
      store.vectors?.import(LONG, E, [{ messageId: "m0", text: "", vector: new Float32Array(2) }]),
};

const file = async (world: World, format: string) => {
  const path = join(world.folder, `exported.${format}`);
  await writeFile(path, exportSession(world.store, LONG, format));
  return path;
};

export const OTHER_CALLS: Calls = {
  copyStore:
    ({ store }) =>
    () =>
      copyStore(store, memory()),
  exportStore:
    ({ store }) =>
    () =>
      drain(exportStore(store)),
  jsonl: async (world) => {
    const path = join(world.folder, "store.jsonl");
    await writeFile(path, exportStore(world.store));
    return () => copyStore(jsonl(createReadStream(path)), memory());
  },
  jsonlFiles:
    ({ store, folder }) =>
    () =>
      copyStore(store, jsonlFiles(join(folder, "copy"))),
  exportSession:
    ({ store }) =>
    () =>
      drain(exportSession(store, LONG, "markdown")),
  importSession: async (world) => {
    const path = await file(world, "jsonl");
    return async () => {
      for await (const session of readSessionFile(path)) await importSession(world.store, session, "imported");
    };
  },
  readSessions: async (world) => {
    const path = await file(world, "jsonl");
    return () => drain(readSessions(createReadStream(path)));
  },
  readSessionFile: async (world) => {
    const path = await file(world, "jsonl");
    return () => drain(readSessionFile(path));
  },
};

/** Files of other programs, in which a session is one line or many. */
export const FILE_CALLS: Calls = Object.fromEntries(
  ["openai", "pi"].flatMap((format): [string, Call][] => [
    [
      `write ${format}`,
      ({ store }) =>
        () =>
          drain(exportSession(store, LONG, format)),
    ],
    [
      `read ${format}`,
      async (world) => {
        const path = await file(world, format);
        return () => drain(readSessionFile(path));
      },
    ],
  ]),
);

/** What a program's own call of the AI SDK is given. */
export const AI_SDK_CALLS: Calls = {
  sessionMemory: ({ session }) => {
    const memory = async () => {
      const { messages, prepareStep } = await sessionMemory(session);
      await prepareStep({ stepNumber: 0, messages });
    };
    return memory;
  },
};

/** What a session calls, and a program may. */
export const COMPACTION_CALLS: Calls = {
  createCompactFunction: ({ news }) => {
    const messages = news();
    const compact = createCompactFunction({ summarize: async () => "Orders were discussed." });
    return () => compact(messages);
  },
};

const ofFact =
  (method: string, body?: object): Call =>
  async ({ chat, store }) => {
    const tea = { key: "tea", content: "Likes tea." };
    await store.forUser(USER).entries.set({ sessionId: "", scope: "user", label: "facts" }, tea);
    return () => read(chat(method, "/memory/fact?label=facts&key=tea", body));
  };

/** By method and path, as `chatHandler` tells its routes apart. */
export const CHAT_CALLS: Calls = {
  "POST /": (world) => () => read(world.chat("POST", "", { id: LONG, message: one() })),
  "GET /":
    ({ chat }) =>
    () =>
      read(chat("GET", "?limit=100")),
  "GET /:id":
    ({ chat }) =>
    () =>
      read(chat("GET", `/${LONG}`)),
  "PATCH /:id":
    ({ chat }) =>
    () =>
      read(chat("PATCH", `/${LONG}`, { name: "Another name" })),
  "GET /:id/memory":
    ({ chat }) =>
    () =>
      read(chat("GET", `/${LONG}/memory`)),
  "GET /memory":
    ({ chat }) =>
    () =>
      read(chat("GET", "/memory")),
  "GET /memory/fact": ofFact("GET"),
  "PATCH /memory/fact": ofFact("PATCH", { content: "Likes coffee." }),
  "DELETE /memory/fact": ofFact("DELETE"),
  "GET /memory/export":
    ({ chat }) =>
    () =>
      read(chat("GET", "/memory/export")),
  "DELETE /:id":
    ({ chat }) =>
    () =>
      read(chat("DELETE", `/${LONG}`)),
  "GET /:id/stream":
    ({ chat }) =>
    () =>
      read(chat("GET", `/${LONG}/stream`)),
  "POST /:id/stop":
    ({ chat }) =>
    () =>
      read(chat("POST", `/${LONG}/stop`, { runId: "none" })),
  "POST /:id/select": (world) => () => read(world.chat("POST", `/${LONG}/select`, { messageId: world.id(0) })),
};

const ask =
  (path: string): Call =>
  ({ studio }) =>
  () =>
    read(studio("GET", `/api/${path}`));
const post =
  (name: string, body: (world: World) => object): Call =>
  (world) => {
    const posted = { id: LONG, ...body(world) };
    return () => read(world.studio("POST", `/api/${name}`, posted));
  };

const FACT = { owner: { session: LONG }, label: "facts", key: "k0" };

/** Those of the studio's API, by name; the others give a file of the page. */
export const STUDIO_CALLS: Calls = {
  info: ask("info"),
  sessions: ask("sessions?order=messages"),
  session: ask(`session?id=${LONG}`),
  change: ask(`change?id=${LONG}`),
  messages: ask(`messages?id=${LONG}`),
  tree: ask(`tree?id=${LONG}`),
  media: async (world) => {
    const url = "data:image/png;base64,iVBORw0KGgo=";
    const parts = [{ type: "file", mediaType: "image/png", url }];
    await world.session.appendMessage({ id: "picture", role: "user", parts });
    return () => read(world.studio("GET", `/api/media?id=${LONG}&message=picture&path=/parts/0/url`));
  },
  turns: ask(`turns?id=${LONG}`),
  context: ask(`context?id=${LONG}`),
  owners: ask("owners?kind=user"),
  memory: ask(`memory?session=${LONG}`),
  entries: ask(`entries?session=${LONG}&label=facts`),
  entry: ask(`entry?session=${LONG}&label=facts&entry=k0`),
  versions: ask(`versions?session=${LONG}&label=notes`),
  writes: ask(`writes?id=${LONG}&message=m0`),
  search: ask("search?q=order%20part"),
  usage: ask("usage?by=session"),
  export: ask(`export?id=${LONG}&format=html`),
  rename: post("rename", () => ({ name: "Another name" })),
  select: post("select", (world) => ({ messageId: world.id(0) })),
  fork: post("fork", (world) => ({ messageId: world.id(-1), name: "The fork" })),
  compact: post("compact", () => ({})),
  uncompact: async (world) => {
    const compactionId = await folded(world);
    return () => read(world.studio("POST", "/api/uncompact", { id: LONG, compactionId }));
  },
  edit: post("edit", (world) => ({ messageId: world.id(0), text: "Another text" })),
  "delete-messages": post("delete-messages", ({ ids }) => ({ messageIds: ids() })),
  "delete-branch": post("delete-branch", (world) => ({ messageId: world.id(0) })),
  "delete-session": post("delete-session", () => ({ name: "The long one" })),
  "edit-block": post("edit-block", () => ({
    owner: { session: LONG },
    label: "notes",
    content: "x",
    expectedVersion: 3,
  })),
  "edit-entry": post("edit-entry", () => ({ ...FACT, content: "Known anew.", expectedContent: "Fact k0 is known." })),
  "forget-entry": post("forget-entry", () => FACT),
  "restore-version": post("restore-version", () => ({ owner: { session: LONG }, label: "notes", version: 1 })),
};

/** Every call, with what it is a call of. */
export const CALLS: Calls = Object.fromEntries(
  Object.entries({
    Session: SESSION_CALLS,
    SessionManager: MANAGER_CALLS,
    Store: STORE_CALLS,
    copy: OTHER_CALLS,
    file: FILE_CALLS,
    "AI SDK": AI_SDK_CALLS,
    compaction: COMPACTION_CALLS,
    chat: CHAT_CALLS,
    studio: STUDIO_CALLS,
  }).flatMap(([of, calls]) => Object.entries(calls).map(([name, call]) => [`${of} ${name}`, call])),
);
