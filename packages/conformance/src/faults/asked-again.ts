// One topic of the suite: operations that are asked for more than once, because an answer was lost.
import { type SessionStore, type Store, WriteGroup } from "@stemma/store";
import { expect, expectError, failureOf } from "../assert.js";
import { message, snapshot } from "../samples.js";
import { type AddCase, type Case, defineTopic } from "../topic.js";
import { Workspace } from "../workspace.js";
import { SCENARIOS } from "./fault-scenarios.js";

const IDS = ["main", "fork"];
const SCOPE = { sessionId: "main", scope: "session" as const, kind: "block" as const, label: "notes" };

const onceOf = (store: Store, id = "operation", fingerprint?: string): Store =>
  store.once?.({ id, fingerprint }) as Store;

/** Makes calls on a session together, each under its number. */
function together(
  store: Store,
  calls: Readonly<Record<number, (session: SessionStore) => Promise<unknown>>>,
): Promise<PromiseSettledResult<unknown>[]> {
  const group = new WriteGroup();
  const made = Object.entries(calls).map(([number, call]) => {
    const one = { id: "together", number: Number(number), group };
    const once = store.once?.({ id: `together ${number}`, fingerprint: "", together: one }) as Store;
    return call(once.session("main"));
  });
  group.end();
  return Promise.allSettled(made);
}

const appending = (id: string, parent?: string) => (session: SessionStore) => session.append([message(id)], parent);

const idsIn = async (store: Store) => (await store.session("main").path()).messages.map(({ id }) => id);

const append = (store: Store, text: string) => store.blocks.append(SCOPE, text, { maxTokens: 1_000 });

/** `Store.once`: a write that is asked for again is done once. */
export const askedAgain = defineTopic("asked again", (add) => {
  // A store of one's own may have transactions, and no such method.
  const it: AddCase = (title, needs, run?: Case["run"]) => {
    if (typeof needs === "function" || run === undefined) return;
    add(title, needs, async (workspace) => {
      if (workspace.store.once !== undefined) await run(workspace);
    });
  };
  for (const scenario of SCENARIOS) {
    it(`does ${scenario.title} once, whoever asks again`, ["transactions"], async (workspace) => {
      const { store, target } = workspace;
      await scenario.prepare(workspace);
      const ask = async () => {
        const again = await Workspace.open(target, onceOf(store));
        return failureOf(await scenario.call(again));
      };
      const dump = () => target.dump?.(store) ?? snapshot(workspace, IDS);
      const before = await dump();
      expect(await ask()).toBe(undefined);
      const after = await dump();
      expect(JSON.stringify(after) === JSON.stringify(before)).toBe(false);
      await ask();
      expect(await dump()).toEqual(after);
    });
  }

  it("gives who asks again what came of it, bytes and nothing too", ["transactions"], async ({ store }) => {
    const records = { sessionId: "main", label: "runs" };
    const ask = async () => {
      const once = onceOf(store);
      return [
        await append(once, "a line"),
        await once.records.set(records, "k", Uint8Array.of(0, 255)),
        await once.blocks.delete({ ...SCOPE, label: "other" }),
        await once.session("main").append([message("a")]),
      ];
    };
    expect(await ask()).toEqual(await ask());
    expect((await store.blocks.get(SCOPE))?.content).toBe("a line");
  });

  it("tells who asks for a claim again how much was claimed", ["transactions"], async ({ store }) => {
    for (const id of ["one", "two"])
      await store
        .forUser("anon")
        .session(id)
        .append([message("a")]);
    const ask = () => onceOf(store).sessions.claim("anon", "ada");
    expect([await ask(), await ask()]).toEqual([2, 2]);
  });

  it("takes each call of an operation for one of its own", ["transactions"], async ({ store }) => {
    const ask = async () => {
      const once = onceOf(store);
      await append(once, "one");
      await append(once, "one");
    };
    await ask();
    await ask();
    expect((await store.blocks.get(SCOPE))?.content).toBe("one\none");
  });

  it("tells operations apart, and what is asked for under an id that was used", ["transactions"], async ({ store }) => {
    await append(onceOf(store, "first", "a"), "one");
    await append(onceOf(store, "second", "a"), "two");
    await expectError(append(onceOf(store, "first", "b"), "three"), "OPERATION_CONFLICT");
    expect((await store.blocks.get(SCOPE))?.content).toBe("one\ntwo");
  });

  it("refuses the next call of an operation that leaves out one that was made", ["transactions"], async ({ store }) => {
    const first = onceOf(store);
    await append(first, "one");
    await expectError(append(onceOf(store), "two"), "OPERATION_CONFLICT");
    const again = onceOf(store);
    await append(again, "one");
    await append(again, "two");
    expect((await store.blocks.get(SCOPE))?.content).toBe("one\ntwo");
  });

  it("tries again what failed", ["transactions"], async ({ store }) => {
    const ask = () =>
      onceOf(store)
        .session("main")
        .append([message("b")], "a");
    await expectError(ask(), "PARENT_NOT_FOUND");
    await store.session("main").append([message("a")]);
    await ask();
    await ask();
    expect((await store.session("main").path()).messages.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("does once what is asked for many times at once", ["transactions"], async ({ store }) => {
    const asked = Array.from({ length: 8 }, () => append(onceOf(store), "one"));
    const results = await Promise.all(asked);
    expect(new Set(results.map((each) => JSON.stringify(each))).size).toBe(1);
    expect((await store.blocks.get(SCOPE))?.content).toBe("one");
  });

  it("does calls that are made together in their order, once each", ["transactions"], async ({ store }) => {
    const calls = { 4: appending("a"), 5: appending("b"), 7: (session: SessionStore) => session.delete(["b"]) };
    const first = await together(store, calls);
    expect(await idsIn(store)).toEqual(["a"]);
    await store.session("main").append([message("b")]);
    expect(await together(store, calls)).toEqual(first);
    expect(await idsIn(store)).toEqual(["a", "b"]);
    // Those that were answered are not asked for again, and another one is.
    const [again] = await together(store, { 7: calls[7], 9: appending("c") });
    expect(again).toEqual(first[2]);
    await together(store, { 9: appending("d") });
    expect(await idsIn(store)).toEqual(["a", "b", "c"]);
  });

  it("refuses one of several calls by itself, and tries it again", ["transactions"], async ({ store }) => {
    const calls = { 1: appending("a"), 2: appending("c", "b"), 3: appending("d") };
    const codes = async () =>
      (await together(store, calls)).map((each) => (each.status === "rejected" ? each.reason.code : ""));
    expect(await codes()).toEqual(["", "PARENT_NOT_FOUND", ""]);
    expect(await idsIn(store)).toEqual(["a", "d"]);
    await store.session("main").append([message("b")]);
    expect(await codes()).toEqual(["", "", ""]);
    expect(await idsIn(store)).toEqual(["a", "d", "b", "c"]);
  });

  it("makes what is read behind calls that are made together see them", ["transactions"], async ({ store }) => {
    const calls = { 1: appending("a"), 2: appending("b", "none"), 3: appending("c") };
    const made = together(store, calls);
    const read = idsIn(store);
    const after = store.session("main").append([message("d")]);
    expect(await read).toEqual(["a", "c"]);
    await Promise.all([made, after]);
    expect(await idsIn(store)).toEqual(["a", "c", "d"]);
  });

  it("does once what is asked for together many times at once", ["transactions"], async ({ store }) => {
    const calls = {
      1: appending("a"),
      2: (session: SessionStore) => session.update({ ...message("a"), parts: [] }),
      3: appending("b"),
    };
    const asked = Array.from({ length: 4 }, () => together(store, calls));
    const parts = Array.from({ length: 4 }, () => together(store, { 2: calls[2], 3: calls[3] }));
    const results = await Promise.all(asked);
    expect(new Set(results.map((each) => JSON.stringify(each))).size).toBe(1);
    for (const each of await Promise.all(parts)) expect(each).toEqual((results[0] ?? []).slice(1));
    expect(await idsIn(store)).toEqual(["a", "b"]);
  });

  it("knows after a restart what was done", ["transactions", "durable"], async ({ store, restart }) => {
    await append(onceOf(store), "one");
    const { store: opened } = await restart();
    await append(onceOf(opened), "one");
    expect((await opened.blocks.get(SCOPE))?.content).toBe("one");
  });

  it("confines an operation to its user", ["transactions"], async ({ store }) => {
    const own = { sessionId: "", scope: "user" as const, kind: "block" as const, label: "notes" };
    const ask = (user: string) => onceOf(store.forUser(user)).blocks.append(own, "one", { maxTokens: 1_000 });
    for (const user of ["ada", "bob", "ada"]) await ask(user);
    for (const user of ["ada", "bob"]) expect((await store.forUser(user).blocks.get(own))?.content).toBe("one");
    await expectError(
      onceOf(store)
        .forUser("ada")
        .session("main")
        .append([message("a")], "none"),
      "PARENT_NOT_FOUND",
    );
  });

  it(
    "has its effect once, whichever statement fails, when it is asked for again",
    ["openWithFaults", "transactions"],
    async ({ target }) => {
      const fault = { at: 0, seen: 0 };
      const store = (await target.openWithFaults?.((statement) => {
        fault.seen += 1;
        if (fault.seen === fault.at) throw new RangeError(`injected: ${statement}`);
      })) as Store;
      const workspace = await Workspace.open(target, store);
      try {
        let lines = 0;
        for (let at = 1, done = false; !done; at += 1) {
          const ask = () => append(onceOf(store, `operation ${at}`), "line");
          Object.assign(fault, { at, seen: 0 });
          done = (await failureOf(ask)) === undefined && fault.seen < at;
          fault.at = 0;
          await ask();
          lines += 1;
          expect((await store.blocks.get(SCOPE))?.content.split("\n").length).toBe(lines);
        }
      } finally {
        fault.at = 0;
        await workspace.close();
      }
    },
  );
});
