import { exportJsonl, exportMemory, importSession, readItems, stemmaJsonl } from "@stemma/formats";
import type { Store } from "@stemma/store";
import { readKept } from "@stemma/store";
import { expect } from "../assert.js";
import { chain, collect, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import { callsOf, play, stepsOf } from "./call-sequences.js";

const SEQUENCES = 6;
const STEPS = 60;

/** Sessions that were written to a file and read from there. */
export const exports = defineTopic("exports", (it) => {
  it("gives the same for every read after an export and an import of random sessions", async (workspace) => {
    const { store } = workspace;
    const { search } = store.capabilities;
    for (let seed = 1; seed <= SEQUENCES; seed += 1) {
      const id = `random ${seed}`;
      const session = workspace.sessionOf(id).withContext("memory").withContext("notes").withCachedPrompt();
      await chain(session, ["m0", "m1", "m2"]);
      await play([session], callsOf("store", search), stepsOf(seed * 1000, STEPS), true);
      await keepBeside(store, id, seed);
      const before = await readEverything(store, id);
      const lines = await collect(exportJsonl(store, (await store.sessions.get(id)) as never));
      await store.sessions.delete(id);
      expect(await store.sessions.get(id)).toBe(null);
      expect(await importLines(store, lines)).toEqual([]);
      expect({ seed, read: await readEverything(store, id) }).toEqual({ seed, read: before });
      // A second time there is nothing to add.
      expect(await importLines(store, lines)).toEqual([]);
      expect({ seed, read: await readEverything(store, id) }).toEqual({ seed, read: before });
    }
  });

  it("takes a session without an active leaf, without messages or without a name for what it is", async ({ store }) => {
    await store.session("no leaf").append([message("a")]);
    await store.session("no leaf").setActiveLeaf(null);
    await store.sessions.create({ id: "empty", name: "Empty", metadata: { n: 1 } });
    await registerUntitled(store);
    for (const id of ["no leaf", "empty", "untitled"]) {
      const before = await readEverything(store, id);
      const lines = await collect(exportJsonl(store, (await store.sessions.get(id)) as never));
      await store.sessions.delete(id);
      expect(await importLines(store, lines)).toEqual([]);
      expect(await readEverything(store, id)).toEqual(before);
    }
  });

  it("takes along what is remembered of a user and under a key", async ({ store }) => {
    const ada = store.forUser("ada");
    const ofAda = { sessionId: "", scope: "user" } as const;
    const ofTeam = { sessionId: "", scope: { key: "team" } };
    for (const text of ["tea", "coffee"]) {
      await ada.blocks.set({ ...ofAda, kind: "block", label: "memory" }, text);
      await store.entries.set({ ...ofTeam, label: "facts" }, { key: "k", content: text, value: { text } });
    }
    const before = [await collect(readKept(ada, ofAda)), await collect(readKept(store, ofTeam))];
    const lines = [
      ...(await collect(exportMemory(store, { user: "ada" }))),
      ...(await collect(exportMemory(store, { key: "team" }))),
    ];
    await ada.blocks.delete({ ...ofAda, kind: "block", label: "memory" });
    await store.entries.delete({ ...ofTeam, label: "facts" }, "k", { keepVersions: 0 });
    expect(await importLines(store, lines)).toEqual([]);
    expect([await collect(readKept(ada, ofAda)), await collect(readKept(store, ofTeam))]).toEqual(before);
  });

  it("tells of a file that ends too early, and completes what it began", async ({ store, sessionOf }) => {
    await chain(sessionOf("main"), ["a", "b"]);
    await store.blocks.set({ sessionId: "main", kind: "block", label: "memory" }, "tea");
    const before = await readEverything(store, "main");
    const lines = await collect(exportJsonl(store, (await store.sessions.get("main")) as never));
    await store.sessions.delete("main");
    for (let length = 1; length < lines.length; length += 1) {
      expect((await importLines(store, lines.slice(0, length))).length).toBe(1);
    }
    expect(await importLines(store, lines)).toEqual([]);
    const { info: _info, ...content } = await readEverything(store, "main");
    const { info: _before, ...wanted } = before;
    expect(content).toEqual(wanted);
  });
});

/** Writes all kinds of what is kept beside messages. */
export async function keepBeside(store: Store, id: string, seed: number): Promise<void> {
  const facts = { sessionId: id, label: "facts" };
  const origin = { author: "model" as const, messageIds: ["m1"], toolCallId: `call ${seed}` };
  for (const key of ["a", "b", "c"]) {
    await store.entries.set(facts, {
      key,
      content: `fact ${key} ${seed}`,
      value: seed % 2 === 0 ? { seed } : undefined,
    });
    await store.entries.set(facts, { key, content: `fact ${key} changed` }, { origin });
  }
  await store.entries.delete(facts, "b");
  await store.records.set({ sessionId: id, label: "marks" }, "k", Uint8Array.of(seed, 0, 255));
  await store.sessions.addUsage(id, seed, 2, 0.25, "model");
  await store.sessions.update(id, { name: `Named ${seed}`, metadata: { project: "stemma", seed } });
  await store.session(id).changeSkills({ type: "load", label: "skills", key: "k", toolCallId: `call ${seed}` });
}

/** Reads all that the contract tells of a session. */
export async function readEverything(store: Store, id: string) {
  const session = store.session(id);
  const tree = await session.tree();
  const compactions = await session.compactions();
  const each = async <T>(read: (messageId: string) => Promise<T>): Promise<T[]> => {
    const all: T[] = [];
    for (const node of tree) all.push(await read(node.id));
    return all;
  };
  const originals = [];
  for (const compaction of compactions) originals.push(await session.originals(compaction.id));
  const { search } = store.capabilities;
  const hits = search ? await session.search("word1 said", { limit: 10 }) : [];
  return {
    info: await store.sessions.get(id),
    tree,
    messages: await each((messageId) => session.message(messageId)),
    branches: await each((messageId) => session.branches(messageId)),
    writes: await each((messageId) => session.writes(messageId)),
    leaf: await session.leaf(),
    path: await session.path(),
    stored: await session.path({ summaries: false }),
    recent: await session.recent(500, { minMessages: 2 }),
    sizes: await session.rowStats(),
    counts: [await session.length(), await session.count(), await session.tokens()],
    compactions,
    originals,
    hits: hits.map(({ id: found, createdAt }) => [found, createdAt]),
    kept: await collect(readKept(store, { sessionId: id })),
    usage: await store.sessions.usageRows(id),
    sums: await store.sessions.usage({ by: "model", sessionId: id }),
  };
}

/** A session whose registry entry holds empty texts. */
export async function registerUntitled(store: Store): Promise<void> {
  const texts = { name: "", source: "", model: "", parentSessionId: "" };
  await store.sessions.create({ id: "untitled", ...texts, userId: "ada", metadata: { empty: "" } });
  await store.session("untitled").append([message("a")]);
  await store.sessions.addUsage("untitled", 1, 2, 0.5, "");
  await store.sessions.restore("untitled", { endReason: "" });
}

async function importLines(store: Store, lines: readonly string[]): Promise<string[]> {
  async function* text() {
    yield lines.map((line) => `${line}\n`).join("");
  }
  const skipped: string[] = [];
  for await (const session of stemmaJsonl.read(readItems(text()), { stem: "file" })) {
    const report = await importSession(store, session);
    skipped.push(...(report ?? session).skipped.map(({ why }) => why));
  }
  return skipped;
}
