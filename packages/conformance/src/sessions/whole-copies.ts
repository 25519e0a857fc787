import { copyStore, exportStore, jsonl } from "@stemma/formats/copy";
import type { Store } from "@stemma/store";
import { expect, failureOf } from "../assert.js";
import { callsOf, play, stepsOf } from "../messages/call-sequences.js";
import { keepBeside, readEverything, registerUntitled } from "../messages/exports.js";
import { chain, collect, message } from "../samples.js";
import { defineTopic } from "../topic.js";
import type { Workspace } from "../workspace.js";

const SEQUENCES = 3;
const STEPS = 50;
const HOUR = 3_600_000;
const MOST_CUTS = 100;

/** A whole store, copied to another one. */
export const wholeCopies = defineTopic("copies of whole stores", (it) => {
  it("answers every read alike after a copy, as lines and from them", async (workspace) => {
    const { store } = workspace;
    await fill(workspace);
    const before = await readWhole(store);
    const copy = await workspace.openAnother();
    const report = await copyStore(jsonl(bytesOf(before.lines)), copy);
    expect(report.parts.filter(({ problem }) => problem !== undefined)).toEqual([]);
    expect([report.ok, report.sessions]).toEqual([true, SEQUENCES + 4]);
    expect(await readWhole(copy)).toEqual(before);
    const checked = (await copy.check?.()) ?? { ok: true, problems: [] };
    expect([checked.ok, checked.problems]).toEqual([true, []]);
    // A second time there is nothing to add.
    const again = await copyStore(jsonl(bytesOf(before.lines)), copy);
    expect(new Set(again.parts.map(({ state }) => state))).toEqual(new Set(["present"]));
    expect(again.parts.map(({ digest }) => digest)).toEqual(report.parts.map(({ digest }) => digest));
    expect(await readWhole(copy)).toEqual(before);
  });

  it("goes on with a copy that was cut off at any write", async (workspace) => {
    const { store, sessionOf } = workspace;
    const session = sessionOf("one").withContext("memory");
    await chain(session, ["a", "b", "c", "d"]);
    await store.session("one").addCompaction({ id: "k", summary: "s", fromMessageId: "a", toMessageId: "b" });
    await store.session("one").append([message("e")], "b");
    await keepBeside(store, "one", 2);
    await store.forUser("ada").blocks.set({ sessionId: "", kind: "block", label: "l", scope: "user" }, "tea");
    const lines = await collect(exportStore(store));
    const copy = await workspace.openAnother();
    let cuts = 0;
    for (let isDone = false; !isDone; ) {
      // Each attempt is cut off behind the second write that it makes.
      let left = 2;
      const failing = failingAfter(copy, () => {
        left -= 1;
        return left < 0;
      });
      const failure = await failureOf(async () => void (await copyStore(jsonl(bytesOf(lines)), failing)));
      isDone = failure === undefined;
      cuts += isDone ? 0 : 1;
      if (cuts > MOST_CUTS) throw failure;
    }
    expect(cuts > 3).toBe(true);
    expect(await collect(exportStore(copy))).toEqual(lines);
  });

  it("tells of a session of which the target holds something else, and overwrites nothing", async (workspace) => {
    const { store, sessionOf } = workspace;
    for (const id of ["one", "two", "three", "four", "five"]) await chain(sessionOf(id), ["a", "b"]);
    await store.blocks.set({ sessionId: "four", kind: "block", label: "memory" }, "tea");
    await store.sessions.addUsage("five", 1, 1, 1);
    const lines = await collect(exportStore(store));
    await chain(sessionOf("six"), ["a"]);
    const withSix = await collect(exportStore(store));
    const copy = await workspace.openAnother();
    expect((await copyStore(jsonl(bytesOf(lines)), copy)).ok).toBe(true);
    await copy.session("one").update({ ...message("a"), parts: [{ type: "text", text: "another" }] });
    await copy.session("two").append([message("c")]);
    await copy.sessions.update("three", { name: "Another" });
    await copy.blocks.set({ sessionId: "four", kind: "block", label: "memory" }, "coffee");
    await copy.sessions.addUsage("five", 1, 1, 1);
    const before = await collect(exportStore(copy));
    const { ok, parts } = await copyStore(jsonl(bytesOf(withSix)), copy);
    expect([ok, parts.map(({ problem }) => problem?.code ?? null)]).toEqual([
      false,
      [...Array.from({ length: 5 }, () => "COPY_CONFLICT"), null],
    ]);
    const after = await collect(exportStore(copy));
    expect(after.slice(0, before.length)).toEqual(before);
    expect(await copy.session("six").count()).toBe(1);
  });

  it("copies what was appended since", async (workspace) => {
    const { store, sessionOf } = workspace;
    await chain(sessionOf("one"), ["a", "b"]);
    await store.blocks.set({ sessionId: "one", kind: "block", label: "memory" }, "tea");
    const first = await collect(exportStore(store));
    await chain(sessionOf("one"), ["c", "d"]);
    await store.records.set({ sessionId: "one", label: "marks" }, "k", Uint8Array.of(1));
    const second = await collect(exportStore(store));
    const copy = await workspace.openAnother();
    expect((await copyStore(jsonl(bytesOf(first)), copy)).ok).toBe(true);
    expect((await copyStore(jsonl(bytesOf(second)), copy)).parts.map(({ state }) => state)).toEqual(["copied"]);
    expect(await collect(exportStore(copy))).toEqual(second);
  });
});

async function fill(workspace: Workspace): Promise<void> {
  const { store } = workspace;
  await registerUntitled(store);
  for (let seed = 1; seed <= SEQUENCES; seed += 1) {
    const id = `random ${seed}`;
    const session = workspace.sessionOf(id).withContext("memory").withContext("notes").withCachedPrompt();
    await chain(session, ["m0", "m1", "m2"]);
    await play([session], callsOf("store", store.capabilities.search), stepsOf(seed * 7000, STEPS), true);
    await keepBeside(store, id, seed);
  }
  await store.sessions.create({ id: "empty", name: "Empty", source: "test", parentSessionId: "gone" });
  await store
    .forUser("ada")
    .session("of ada")
    .append([message("a")]);
  await store.session("no leaf").append([message("a")]);
  await store.session("no leaf").setActiveLeaf(null);
  for (const [owner, scope] of [
    [store.forUser("ada"), "user"],
    [store, { key: "team" }],
    [store, "session"],
  ] as const) {
    await owner.blocks.set({ sessionId: "", kind: "block", label: "memory", scope }, "tea");
    await owner.blocks.set({ sessionId: "", kind: "block", label: "memory", scope }, "coffee");
    const facts = { sessionId: "", label: "facts", scope };
    for (const key of ["a", "b"]) await owner.entries.set(facts, { key, content: `fact ${key}`, value: { key } });
    await owner.entries.delete(facts, "a");
  }
  // Of whoever has nothing but what can be restored.
  const bob = { sessionId: "", label: "facts", scope: "user" } as const;
  await store.forUser("bob").entries.set(bob, { key: "k", content: "gone" });
  await store.forUser("bob").entries.delete(bob, "k");
  for (const sessionId of ["", "never written to"]) {
    await store.records.set({ sessionId, label: "marks" }, "k", Uint8Array.of(1, 2));
    await store.records.set({ sessionId, label: "marks" }, "soon", Uint8Array.of(3), { expiresAt: Date.now() + HOUR });
  }
}

/** Reads all that the contract tells of a whole store. */
export async function readWhole(store: Store) {
  const { sessions } = await store.sessions.list({ orderBy: "registered" });
  const orders = [];
  for (const orderBy of ["change", "tokens", "cost", "registered"] as const) {
    orders.push((await store.sessions.list({ orderBy, limit: 100 })).sessions.map(({ id }) => id));
  }
  const each = [];
  for (const { id } of sessions) each.push(await readEverything(store, id));
  const sums = [];
  for (const by of ["day", "session", "compaction"] as const) sums.push(await store.sessions.compactionSums({ by }));
  return {
    orders,
    each,
    sums,
    usage: await store.sessions.usage({ by: "model" }),
    owners: [await store.blocks.owners("user"), await store.blocks.owners("key")],
    unregistered: await store.sessions.unregistered(),
    lines: await collect(exportStore(store)),
  };
}

export async function* bytesOf(chunks: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield new TextEncoder().encode(chunk);
}

class Cut extends RangeError {}

/** A view of the store on which a write fails where `isCut` says so, as if the process had ended before it. */
function failingAfter(store: Store, isCut: () => boolean): Store {
  const failing = <T extends object>(methods: T, names: readonly (keyof T)[]): T => {
    const wrapped = names.map((name) => {
      const call = async (...values: unknown[]) => {
        if (isCut()) throw new Cut("cut off");
        return (methods[name] as (...values: unknown[]) => Promise<unknown>)(...values);
      };
      return [name, call];
    });
    return { ...methods, ...Object.fromEntries(wrapped) };
  };
  return {
    ...failing(store, ["writeTogether"]),
    forUser: (userId) => failingAfter(store.forUser(userId), isCut),
    session: (id) => failing(store.session(id), ["importTree"]),
    sessions: failing(store.sessions, ["importUsage", "restore"]),
    blocks: failing(store.blocks, ["set", "importVersions"]),
    entries: failing(store.entries, ["set", "importVersions"]),
    records: failing(store.records, ["set"]),
  };
}
