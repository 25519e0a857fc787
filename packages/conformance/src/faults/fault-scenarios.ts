// One list: every call that writes, each on a state that makes it write all that it can.

import type { SessionTools } from "@stemma/session";
import { AgentSearchProvider } from "@stemma/session";
import type { Store, StoredVersion } from "@stemma/store";
import { z } from "zod";
import { ConformanceError } from "../assert.js";
import { imageMessage } from "../messages/fidelity.js";
import { chain, forkedTree, importedTree, message } from "../samples.js";
import { fill, richManager } from "../sessions/forks.js";
import { MAIN, type Workspace } from "../workspace.js";

/** A public call that writes, on a state that makes it write all that it can. */
export interface Scenario {
  readonly title: string;
  prepare(workspace: Workspace): Promise<void>;
  /** Makes the call ready, with objects that live through all its attempts. */
  call(workspace: Workspace): Promise<() => Promise<unknown>>;
}

const twoBranches = async ({ session }: Workspace): Promise<void> => {
  await forkedTree(session);
  await session.addCompaction("summary", "a", "d");
  await session.addCompaction("left", "a", "c");
};

/** Every public call that writes, one list: a case is missing when a write of the contract is made by none of them. */
export const SCENARIOS: readonly Scenario[] = [
  {
    title: "a first append",
    prepare: ({ store }) => store.migrate(),
    call:
      async ({ session }) =>
      () =>
        session.appendMessage(imageMessage("a", 1)),
  },
  {
    title: "a plain append",
    prepare: ({ session }) => chain(session, ["a", "b"]),
    call:
      async ({ session }) =>
      () =>
        session.appendMessage(message("c")),
  },
  {
    title: "an append after a chosen leaf",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await workspace.session.setActiveLeaf("b");
    },
    call:
      async ({ session }) =>
      () =>
        session.appendMessage(message("x")),
  },
  {
    title: "appendAll",
    prepare: twoBranches,
    call: async ({ session }) => {
      const all = [message("x"), message("a"), imageMessage("y", 1), message("z")];
      return () => session.appendAll(all, "b");
    },
  },
  {
    title: "an update",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await workspace.session.updateMessage(imageMessage("b", 1));
    },
    call:
      async ({ session }) =>
      () =>
        session.updateMessage(imageMessage("b", 2)),
  },
  {
    title: "an upsert that updates",
    prepare: twoBranches,
    call:
      async ({ session }) =>
      () =>
        session.upsertMessage(message("b", "changed")),
  },
  {
    title: "an upsert that inserts",
    prepare: twoBranches,
    call:
      async ({ session }) =>
      () =>
        session.upsertMessage(imageMessage("x", 1), "a"),
  },
  {
    title: "a delete in the middle",
    prepare: twoBranches,
    call:
      async ({ session }) =>
      () =>
        session.deleteMessages(["a"]),
  },
  {
    title: "a delete of the leaf",
    prepare: twoBranches,
    call:
      async ({ session }) =>
      () =>
        session.deleteMessages(["e"]),
  },
  {
    title: "a delete of several messages with media, a branch and a chosen leaf among them",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await workspace.session.appendAll([imageMessage("i", 1), imageMessage("j", 1)], "c");
      await workspace.session.setActiveLeaf("d");
    },
    call:
      async ({ session }) =>
      () =>
        session.deleteMessages(["d", "e", "i", "root"]),
  },
  {
    title: "a clear",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await workspace.session.appendMessage(imageMessage("i", 1));
      await workspace.store.session("main").importTree({ messages: [], skills: { loaded: [DEPLOY], unloaded: [] } });
    },
    call:
      async ({ session }) =>
      () =>
        session.clearMessages(),
  },
  {
    title: "a clear of a session with a frozen prompt",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      const session = workspace.sessionOf(MAIN).withContext("memory").withCachedPrompt();
      await session.freezeSystemPrompt();
      await session.replaceContextBlock("memory", "not in the frozen prompt yet");
    },
    // Of the session's call, rendering the prompt anew comes after the clear.
    call:
      async ({ store }) =>
      () =>
        store.session(MAIN).clear(),
  },
  {
    title: "setActiveLeaf",
    prepare: twoBranches,
    call:
      async ({ session }) =>
      () =>
        session.setActiveLeaf("b"),
  },
  {
    title: "an append that expects the chosen leaf",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await workspace.session.setActiveLeaf("b");
    },
    call:
      async ({ session }) =>
      () =>
        session.appendMessage(imageMessage("x", 1), undefined, { expectedLeaf: "b" }),
  },
  {
    title: "a first append that expects no leaf",
    prepare: ({ store }) => store.migrate(),
    call:
      async ({ session }) =>
      () =>
        session.appendMessage(message("a"), undefined, { expectedLeaf: null }),
  },
  {
    title: "editMessage",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await workspace.session.setActiveLeaf("c");
    },
    call:
      async ({ session }) =>
      () =>
        session.editMessage("b", imageMessage("x", 1)),
  },
  {
    title: "selectBranch",
    prepare: twoBranches,
    call:
      async ({ session }) =>
      () =>
        session.selectBranch("b"),
  },
  {
    title: "removeCompaction",
    prepare: twoBranches,
    call: async ({ session }) => {
      const [first] = await session.getCompactions();
      return () => session.removeCompaction(first?.id ?? "");
    },
  },
  {
    title: "addCompaction",
    prepare: twoBranches,
    call:
      async ({ session }) =>
      () =>
        session.addCompaction("another", "root", "e"),
  },
  {
    title: "compact",
    prepare: ({ session }) => chain(session, ["a", "b", "c", "d"]),
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").onCompaction(async () => {
        return { fromMessageId: "a", toMessageId: "c", summary: "s" };
      });
      return () => session.compact();
    },
  },
  {
    title: "create, of the registry",
    prepare: ({ store }) => store.migrate(),
    call:
      async ({ manager }) =>
      () =>
        manager.create("Chat", { id: "main" }),
  },
  {
    title: "rename",
    prepare: twoBranches,
    call:
      async ({ manager }) =>
      () =>
        manager.rename("main", "renamed"),
  },
  {
    title: "update, of the registry",
    prepare: twoBranches,
    call:
      async ({ manager }) =>
      () =>
        manager.update("main", { name: "renamed", metadata: { topic: "tea" } }),
  },
  {
    title: "a first append of a user",
    prepare: ({ store }) => store.migrate(),
    call:
      async ({ sessionOf }) =>
      () =>
        sessionOf("main").forUser("ada").appendMessage(imageMessage("a", 1)),
  },
  {
    title: "an append of a user to a session of nobody",
    prepare: twoBranches,
    call:
      async ({ sessionOf }) =>
      () =>
        sessionOf("main")
          .forUser("ada")
          .appendAll([message("x"), message("y")], "a"),
  },
  {
    title: "a create that makes a session of nobody a user's",
    prepare: twoBranches,
    call:
      async ({ manager }) =>
      () =>
        manager.forUser("ada").create("Chat", { id: "main" }),
  },
  {
    title: "a first block of a user",
    prepare: ({ store }) => store.migrate(),
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").forUser("ada").withContext("memory", { scope: "user" });
      return () => session.appendContextBlock("memory", "coffee");
    },
  },
  {
    title: "an entry of a user",
    prepare: ({ store }) => entriesOf(store, "ada").set("sky", "The sky is grey."),
    call:
      async ({ store }) =>
      () =>
        entriesOf(store, "ada").set("sky", "The sky is blue."),
  },
  {
    title: "a claim of sessions, blocks and entries",
    prepare: async ({ store, sessionOf }) => {
      for (const userId of ["anon", "ada"]) {
        for (const id of ["main", "fork"]) {
          await sessionOf(`${id} of ${userId}`).forUser(userId).appendMessage(message("a"));
        }
        const session = sessionOf(`main of ${userId}`).forUser(userId);
        session.withContext("memory", { scope: "user" }).withContext(`of ${userId}`, { scope: "user" });
        await session.replaceContextBlock("memory", `memory of ${userId}`);
        await session.replaceContextBlock(`of ${userId}`, "text");
        await entriesOf(store, userId).set("sky", `sky of ${userId}`);
        await entriesOf(store, userId).set(`of ${userId}`, "text");
      }
    },
    call:
      async ({ manager }) =>
      () =>
        manager.claim("anon", "ada"),
  },
  {
    title: "addUsage",
    prepare: twoBranches,
    call:
      async ({ manager }) =>
      () =>
        manager.addUsage("main", 1, 2, 3),
  },
  {
    title: "usage that was counted elsewhere",
    prepare: twoBranches,
    call:
      async ({ store }) =>
      () => {
        const usage = { inputTokens: 1, outputTokens: 2, cost: 3 };
        const days = ["2025-01-01", "2025-01-02"];
        return store.sessions.importUsage(
          "main",
          usage,
          days.map((day) => ({ day, model: "large", requests: 1, ...usage })),
        );
      },
  },
  {
    title: "a fork with compactions, media, blocks, entries and a prompt",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await withEverything(workspace);
    },
    call:
      async ({ manager }) =>
      () =>
        manager.fork("main", "b", "fork", { id: "fork" }),
  },
  {
    title: "compactAndSplit",
    prepare: withEverything,
    call:
      async ({ manager }) =>
      () =>
        manager.compactAndSplit("main", "summary", "continued"),
  },
  {
    title: "a delete of a session",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await withEverything(workspace);
    },
    call:
      async ({ manager }) =>
      () =>
        manager.delete("main", { scrub: false }),
  },
  {
    title: "a deletion of a user's memory",
    prepare: async ({ store }) => {
      const ada = store.forUser("ada");
      await ada.blocks.set({ ...OF_USER, kind: "block", label: "memory" }, "tea");
      await ada.entries.set({ ...OF_USER, label: "facts" }, { key: "sky", content: "blue" });
    },
    call:
      async ({ store }) =>
      () =>
        store.forUser("ada").deleteMemory(OF_USER),
  },
  {
    title: "a step of retention that removes messages",
    prepare: async (workspace) => {
      await workspace.session.appendMessage(imageMessage("i", 1));
      await twoBranches(workspace);
    },
    call:
      async ({ store }) =>
      () =>
        store.sessions.prune("main", { keepMessages: 2, limit: 1000 }),
  },
  {
    title: "a step of retention that removes a session",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await withEverything(workspace);
    },
    call:
      async ({ store }) =>
      () =>
        store.sessions.prune("main", { changedBefore: "9999-01-01T00:00:00.000Z", limit: 1000 }),
  },
  {
    title: "a step of retention that removes versions",
    prepare: async ({ store }) => {
      const key = { sessionId: "main", kind: "block", label: "memory" } as const;
      for (const content of ["one", "two", "three"]) await store.blocks.set(key, content);
    },
    call:
      async ({ store }) =>
      () =>
        store.pruneVersions({ sessionId: "main" }, { keep: 1, limit: 100 }),
  },
  {
    title: "an entry that supersedes two others",
    prepare: async ({ store }) => {
      for (const key of ["a", "b"])
        await store.entries.set({ sessionId: "main", label: "facts" }, { key, content: key });
    },
    call:
      async ({ store }) =>
      () =>
        store.entries.set({ sessionId: "main", label: "facts" }, { key: "c", content: "c", supersedes: ["a", "b"] }),
  },
  {
    title: "a consolidation",
    prepare: async ({ store }) => {
      for (const key of ["a", "b"])
        await store.entries.set({ sessionId: "main", label: "facts" }, { key, content: "likes tea" });
    },
    call:
      async ({ store }) =>
      () =>
        store.consolidate({ sessionId: "main", scope: "session" }),
  },
  {
    title: "a consolidation that is taken back",
    prepare: async ({ store }) => {
      for (const key of ["a", "b"])
        await store.entries.set({ sessionId: "main", label: "facts" }, { key, content: "likes tea" });
      await store.consolidate({ sessionId: "main", scope: "session" });
    },
    call: async ({ store }) => {
      const own = { sessionId: "main", scope: "session" } as const;
      const [merged] = await store.entries.list({ ...own, label: "facts" });
      const originals = ["a", "b"].map((key) => ({ key, content: "likes tea" }));
      const undo = [{ label: "facts", key: merged?.key ?? "", content: "likes tea", originals }];
      return () => store.consolidate({ ...own, undo });
    },
  },
  {
    title: "a note that all of a session was learned from",
    prepare: ({ session }) => chain(session, ["m"]),
    // A write that failed may be a change.
    call:
      async ({ store }) =>
      async () =>
        store.sessions.markLearned("main", await store.session("main").change()),
  },
  {
    title: "a step of retention that removes expired entries",
    prepare: async ({ store }) => {
      const scope = { sessionId: "main", label: "facts" };
      await store.entries.set(scope, { key: "a", content: "a" });
      const expired = { content: "gone", supersedes: ["a"], expiresAt: "2025-06-01" };
      for (const key of ["b", "c"]) await store.entries.set(scope, { key, ...expired });
    },
    call:
      async ({ store }) =>
      () =>
        store.pruneExpired({ sessionId: "main" }, { limit: 100 }),
  },
  {
    title: "a first block",
    prepare: ({ store }) => store.migrate(),
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory");
      return () => session.replaceContextBlock("memory", "coffee");
    },
  },
  {
    title: "a replace of a block",
    prepare: withEverything,
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory");
      return () => session.replaceContextBlock("memory", "tea");
    },
  },
  {
    title: "an append to a block",
    prepare: withEverything,
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory");
      return () => session.appendContextBlock("memory", " and tea");
    },
  },
  {
    title: "a replace of a block whose oldest version goes",
    prepare: withEverything,
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory", { keepVersions: 1 });
      return () => session.replaceContextBlock("memory", "tea");
    },
  },
  {
    title: "restoreBlock",
    prepare: async (workspace) => {
      await withEverything(workspace);
      await workspace.sessionOf("main").withContext("memory").replaceContextBlock("memory", "tea");
    },
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory");
      return () => session.restoreBlock("memory", 1);
    },
  },
  {
    title: "revertFrom",
    prepare: async (workspace) => {
      await withEverything(workspace);
      const origin = { author: "learning" as const, sessionId: "main", messageIds: ["a"] };
      const { blocks, entries } = workspace.store;
      const memory = { sessionId: "main", kind: "block", label: "memory" } as const;
      await blocks.append(memory, "wrong", { maxTokens: 1000, origin });
      await entries.set({ sessionId: "main", label: "facts" }, { key: "sky", content: "Wrong." }, { origin });
    },
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory");
      return () => session.revertFrom("a");
    },
  },
  {
    title: "setActiveLeaf as of a message",
    prepare: async (workspace) => {
      await withEverything(workspace);
      await new Promise((resolve) => setTimeout(resolve, 2));
      const { blocks, entries } = workspace.store;
      await blocks.set({ sessionId: "main", kind: "block", label: "memory" }, "tea");
      await entries.delete({ sessionId: "main", label: "facts" }, "sky");
    },
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory");
      return () => session.setActiveLeaf("a", { context: "as-of" });
    },
  },
  {
    title: "several writes together",
    prepare: withEverything,
    call:
      async ({ store }) =>
      () =>
        store.writeTogether([
          { block: { sessionId: "main", kind: "block", label: "memory" }, content: "tea" },
          { entries: { sessionId: "main", label: "facts" }, key: "sky", content: null },
          { entries: { sessionId: "main", label: "facts" }, key: "grass", content: "The grass is green." },
          { block: { sessionId: "", kind: "block", label: "team", scope: { key: "k" } }, content: "ten" },
          { entries: { sessionId: "main", label: "facts" }, key: "sea", content: "The sea is wide.", value: { km: 9 } },
          { records: RECORDS, key: "k", value: new Uint8Array([1]) },
          { session: "new", append: [imageMessage("n", 1), message("o")] },
          { session: "new", activeLeaf: "n" },
        ]),
  },
  {
    title: "a JSON Merge Patch",
    prepare: async ({ sessionOf }) => {
      await sessionOf("main").withContext("profile").replaceContextBlock("profile", '{"name":"Ada"}');
    },
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("profile", { schema: z.object({ name: z.string() }) });
      await session.readContextBlock("profile");
      return () => session.patchContextBlock("profile", { name: "Bea" });
    },
  },
  {
    title: "restoring the dates of a session",
    prepare: withEverything,
    call:
      async ({ store }) =>
      () =>
        store.sessions.restore("main", { createdAt: "2024-01-02T03:04:05.678Z", endReason: "compaction" }),
  },
  {
    title: "importing versions of a block",
    prepare: withEverything,
    call:
      async ({ store }) =>
      () =>
        store.blocks.importVersions({ sessionId: "main", kind: "block", label: "memory" }, ELSEWHERE),
  },
  {
    title: "importing versions of an entry",
    prepare: withEverything,
    call:
      async ({ store }) =>
      () =>
        store.entries.importVersions({ sessionId: "main", label: "facts" }, "sky", ELSEWHERE),
  },
  {
    title: "freezing the prompt",
    prepare: ({ session }) => chain(session, ["a"]),
    call: async ({ sessionOf }) => {
      const session = sessionOf("main").withContext("memory").withCachedPrompt();
      return () => session.freezeSystemPrompt();
    },
  },
  {
    title: "refreshing the prompt",
    prepare: withEverything,
    call: async (workspace) => {
      const session = richManager(workspace).getSession("main");
      await session.replaceContextBlock("memory", "tea");
      return () => session.refreshSystemPrompt();
    },
  },
  {
    title: "a delete of a block",
    prepare: withEverything,
    call:
      async ({ store }) =>
      () =>
        store.blocks.delete({ sessionId: "main", kind: "block", label: "memory" }),
  },
  {
    title: "set_context on a keyed block",
    prepare: withEverything,
    call: async (workspace) => {
      const { set_context } = await richManager(workspace).getSession("main").tools();
      const input = { label: "facts", content: "The sky is grey.", metadata: { title: "sky" } };
      return () => refusing(set_context?.execute(input));
    },
  },
  {
    title: "an entry that is new",
    prepare: withEverything,
    call: async ({ store }) => {
      const entries = new AgentSearchProvider(store, "facts");
      return () => entries.set("grass", "The grass is green.");
    },
  },
  {
    title: "an append to an entry",
    prepare: ({ store }) => new AgentSearchProvider(store, "facts").set("sky", "The sky is blue."),
    call: async ({ store }) => {
      const entries = new AgentSearchProvider(store, "facts");
      return () => entries.append("sky", " And wide.");
    },
  },
  {
    title: "a delete of an entry",
    prepare: withEverything,
    call:
      async ({ store }) =>
      () =>
        store.entries.delete({ sessionId: "main", label: "facts" }, "sky"),
  },
  {
    title: "importTree",
    prepare: async (workspace) => {
      await twoBranches(workspace);
      await chain(workspace.sessionOf("fork"), ["root", "before"]);
    },
    call: async ({ store, session }) => {
      const tree = await importedTree(session, "c");
      return () => store.session("fork").importTree(tree);
    },
  },
  {
    title: "records.set",
    prepare: async ({ store }) => {
      await store.records.set(RECORDS, "old", new Uint8Array([1]), { expiresAt: 1 });
      await store.records.set(RECORDS, "k", new Uint8Array([1]));
    },
    call:
      async ({ store }) =>
      () =>
        store.records.set(RECORDS, "k", new Uint8Array([2])),
  },
  {
    title: "records.delete",
    prepare: async ({ store }) => {
      await store.records.set(RECORDS, "k", new Uint8Array([1]));
    },
    call:
      async ({ store }) =>
      () =>
        store.records.delete(RECORDS, "k"),
  },
  {
    title: "records.expire",
    prepare: async ({ store }) => {
      for (const key of ["k1", "k2"]) await store.records.set(RECORDS, key, new Uint8Array([1]));
    },
    call:
      async ({ store }) =>
      async () =>
        store.records.expire?.(RECORDS, "k", 3_600_000),
  },
  {
    title: "load_context",
    prepare: ({ session }) => chain(session, ["a"]),
    call: async (workspace) => {
      const { load_context } = await skillTools(workspace);
      return () => refusing(load_context?.execute({ label: "skills", key: "deploy" }, { toolCallId: "1" }));
    },
  },
  {
    title: "unload_context",
    prepare: ({ session }) => chain(session, ["a"]),
    call: async (workspace) => {
      const tools = await skillTools(workspace);
      await tools.load_context?.execute({ label: "skills", key: "deploy" });
      return () => refusing(tools.unload_context?.execute({ label: "skills", key: "deploy" }));
    },
  },
];

const entriesOf = (store: Store, userId: string) =>
  new AgentSearchProvider(store, { scope: "user", label: "facts" }).forUser(userId);

const ELSEWHERE: readonly StoredVersion[] = [7, 8].map((version) => ({
  version,
  content: `version ${version}`,
  writtenAt: "2026-11-22T12:00:00.000Z",
  author: "import",
  sessionId: "elsewhere",
  messageIds: ["m"],
  toolCallId: null,
}));

const OF_USER = { sessionId: "", scope: "user" } as const;

const RECORDS = { sessionId: "main", label: "runs" };

const DEPLOY = { label: "skills", key: "deploy", toolCallIds: [] };

async function skillTools({ sessionOf }: Workspace): Promise<SessionTools> {
  const skills = { get: async () => "- deploy", load: async () => "text" };
  return sessionOf("main").withContext("skills", { provider: skills }).tools();
}

async function withEverything(workspace: Workspace): Promise<void> {
  const session = richManager(workspace).getSession("main");
  await fill(session);
  await session.freezeSystemPrompt();
}

// Tools do not reject: they answer with the refusal.
async function refusing(answer: Promise<string> | undefined): Promise<void> {
  const text = (await answer) ?? "Error: no such tool";
  if (text.startsWith("Error:")) throw new ConformanceError(text, text, "an answer");
}
