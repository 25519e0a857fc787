import type { LearnFunction, LearnRequest, LearnUsage } from "@stemma/session";
import { createLearnFunction, SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { expect, expectError, expectParts } from "../assert.js";
import { idsOf, message, numbered, textOf } from "../samples.js";
import { defineTopic } from "../topic.js";

const answer = (id: string) => message(id, `text of ${id}`, "assistant");

const USAGE = { inputTokens: 100, outputTokens: 10, cost: 0.25 };

/** A learn function that adds what the user said, tells what it cost, and notes the messages that it was given. */
function learning(told: LearnUsage | null = USAGE) {
  const given: string[][] = [];
  const learn: LearnFunction = async ({ messages }: LearnRequest) => {
    given.push(idsOf(messages));
    const said = messages.filter(({ role }) => role === "user");
    const edits = said.map((each) => ({
      action: "add" as const,
      label: "memory",
      content: textOf(each),
      messageIds: [each.id],
    }));
    return told === null ? edits : { edits, usage: told };
  };
  return { learn, given };
}

const managerOf = (store: Store, learn: LearnFunction) =>
  SessionManager.create(store).withContext("memory", { maxTokens: 60_000 }).onLearning(learn, { idleAfter: Infinity });

const memoryOf = async (manager: SessionManager, id: string) => (await manager.readContextBlock(id, "memory"))?.content;

/** Finding the sessions that nobody has learned from, and learning from them, in any process. */
export const learningAnywhere = defineTopic("learning anywhere", (it) => {
  it("knows the sessions that are due, until they are marked, and after each change of their messages again", async ({
    store,
    sessionOf,
  }) => {
    const { sessions } = store;
    const [one, two] = [sessionOf("one"), sessionOf("two")];
    await one.appendMessage(message("u1"));
    await two.appendAll([message("u1"), answer("a1")]);
    expect(await sessions.due()).toEqual(["one", "two"]);
    expect(await sessions.due({ after: "one", limit: 1 })).toEqual(["two"]);
    const mark = async (id: string) => sessions.markLearned(id, await store.session(id).change());
    const change = await store.session("one").change();
    await one.appendMessage(answer("a1"));
    expect([await sessions.markLearned("one", change), await mark("one"), await mark("nowhere")]).toEqual([
      false,
      true,
      false,
    ]);
    expect(await sessions.due()).toEqual(["two"]);
    const changes = [
      () => one.appendMessage(message("u2")),
      () => one.appendAll(numbered("n", 12).map((id) => message(id))),
      () => one.editMessage("u2", message("u2b")),
      () => one.upsertMessage(message("u2b", "other")),
      () => one.setActiveLeaf("a1"),
      () => one.deleteMessages(["u2b"]),
      () => one.clearMessages(),
    ];
    for (const write of changes) {
      await write();
      expect(await sessions.due()).toEqual(["one", "two"]);
      expect(await mark("one")).toBe(true);
    }
    await sessions.update("one", { name: "Another name" });
    expect(await sessions.due()).toEqual(["two"]);
  });

  it("knows what is due of one user, and what has been idle", async ({ store }) => {
    const [ada, bob] = [store.forUser("ada"), store.forUser("bob")];
    await ada.sessions.create({ id: "a", name: "a" });
    await bob.sessions.create({ id: "b", name: "b" });
    expect([await store.sessions.due(), await ada.sessions.due()]).toEqual([["a", "b"], ["a"]]);
    expect(await bob.sessions.markLearned("a", await store.session("a").change())).toBe(false);
    expect(await store.sessions.due({ changedBefore: "2020-01-01T00:00:00.000Z" })).toEqual([]);
    expect(await store.sessions.due({ changedBefore: "2120-01-01T00:00:00.000Z" })).toEqual(["a", "b"]);
  });

  it("learns from every session that is due, each message once, and counts what it cost apart", async ({ store }) => {
    const { learn, given } = learning();
    const manager = managerOf(store, learn);
    await manager.appendAll("one", [message("u1", "Lives in Lima."), answer("a1")]);
    await manager.appendAll("two", [message("u1", "Drinks tea.")]);
    await manager.appendAll("three", [answer("a1")]);
    expectParts(await manager.learnDue({ dryRun: true }), {
      dryRun: true,
      sessions: 2,
      messages: 3,
      edits: 0,
    });
    expect(given).toEqual([]);
    const receipt = await manager.learnDue();
    expectParts(receipt, { sessions: 2, messages: 3, edits: 2, failed: [], isMoreDue: false });
    expect(receipt.usage).toEqual({ inputTokens: 200, outputTokens: 20, cost: 0.5 });
    expect([await memoryOf(manager, "one"), await memoryOf(manager, "two")]).toEqual(["Lives in Lima.", "Drinks tea."]);
    expect((await manager.getUsage({ by: "model" })).map(({ name, requests, cost }) => [name, requests, cost])).toEqual(
      [["learning", 2, 0.5]],
    );
    expect(await store.sessions.due()).toEqual([]);
    await manager.append("three", message("u1", "Plays chess."));
    expectParts(await manager.learnDue(), { sessions: 1, messages: 2 });
    expect(given).toEqual([["u1", "a1"], ["u1"], ["a1", "u1"]]);
  });

  it("keeps to its limit, its deadline, what it may cost, and to what has been idle", async ({ store }) => {
    const { learn, given } = learning();
    const manager = managerOf(store, learn);
    for (const id of ["a", "b", "c", "d"]) await manager.append(id, message("u1"));
    for (const idleFor of [60_000, 1e14, Number.MAX_SAFE_INTEGER])
      expectParts(await manager.learnDue({ idleFor }), { sessions: 0, isMoreDue: false });
    expectParts(await manager.learnDue({ deadline: Date.now() - 1 }), { sessions: 0, isMoreDue: true });
    expectParts(await manager.learnDue({ limit: 1 }), { sessions: 1, isMoreDue: true });
    expectParts(await manager.learnDue({ maxCost: 0.3 }), { sessions: 2, isMoreDue: true });
    expect([given.length, await store.sessions.due()]).toEqual([3, ["d"]]);
    // Of a long session the batches that are paid for stay learned.
    const long = "word ".repeat(12_000);
    await manager.appendAll(
      "d",
      ["u2", "u3"].map((id) => message(id, long)),
    );
    expectParts(await manager.learnDue({ maxCost: 0.1 }), { sessions: 1, isMoreDue: true });
    expect(given.at(-1)).toEqual(["u1", "u2"]);
    expectParts(await manager.learnDue(), { sessions: 1, messages: 1, isMoreDue: false });
    // What tells no cost could cost anything.
    const silent = managerOf(store, learning(null).learn);
    for (const id of ["a", "b"]) await silent.append(id, message("v1"));
    expectParts(await silent.learnDue({ maxCost: 100 }), { sessions: 1, isMoreDue: true });
    for (const options of [{ limit: 0 }, { maxCost: 0 }, { deadline: "now" }, { idleFor: -1 }, { dryRun: 1 }]) {
      await expectError(() => manager.learnDue(options as object), "INVALID_ARGUMENT");
    }
    await expectError(() => SessionManager.create(store).learnDue(), "INVALID_ARGUMENT");
  });

  it("tells in which sessions it fails, and goes on with the others", async ({ store }) => {
    const { learn, given } = learning();
    const manager = managerOf(store, async (request) => {
      if (request.messages.some(({ id }) => id === "bad")) throw new RangeError("no model today");
      return learn(request);
    });
    await manager.append("a", message("bad"));
    await manager.append("b", message("u1"));
    manager.getSession("a").subscribe(() => {});
    for (let call = 0; call < 3; call += 1) {
      const { failed, isMoreDue } = await manager.learnDue();
      expect([failed, isMoreDue]).toEqual([[{ sessionId: "a", error: "no model today" }], true]);
    }
    // It is passed over then.
    expectParts(await manager.learnDue(), { failed: [], isMoreDue: false });
    expect([given, await store.sessions.due()]).toEqual([[["u1"]], []]);
  });

  it("counts what an answer cost that cannot be read", async ({ store }) => {
    const learn = createLearnFunction({ extract: async () => ({ text: "I cannot say.", usage: USAGE }) });
    const manager = managerOf(store, learn);
    await manager.append("a", message("u1"));
    manager.getSession("a").subscribe(() => {});
    const { failed, usage } = await manager.learnDue();
    expect([failed.length, usage.cost, (await manager.get("a"))?.estimated_cost]).toEqual([1, 0.25, 0.25]);
    const good = createLearnFunction({ extract: async () => ({ text: "[]", usage: USAGE }) });
    expect((await managerOf(store, good).learnDue()).usage).toEqual(USAGE);
  });

  it("learns once where several processes look for what is due", ["durable"], async (workspace) => {
    const { learn, given } = learning();
    const writer = managerOf(workspace.store, learn);
    const ids = numbered("s", 5);
    for (const id of ids) await writer.append(id, message("u1", `Said in ${id}.`));
    const slow: LearnFunction = async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      return learn(request);
    };
    const others = await Promise.all([1, 2].map(() => workspace.connect()));
    const managers = [workspace, ...others].map(({ store }) => managerOf(store, slow));
    const receipts = await Promise.all(managers.map((manager) => manager.learnDue()));
    const sum = (of: (receipt: (typeof receipts)[number]) => number) =>
      receipts.reduce((total, receipt) => total + of(receipt), 0);
    expect([given.length, sum(({ sessions }) => sessions), sum(({ usage }) => usage.cost)]).toEqual([5, 5, 1.25]);
    for (const id of ids) expect(await memoryOf(writer, id)).toBe(`Said in ${id}.`);
    expect(await workspace.store.sessions.due()).toEqual([]);
  });

  it("leaves out whom nobody owns where a block is the user's, and fails in none of them", async ({ store }) => {
    const { learn, given } = learning();
    const manager = SessionManager.create(store).withContext("memory", { scope: "user" }).onLearning(learn);
    await manager.append("nobody", message("u1", "Is called Nemo."));
    await manager.forUser("ada").append("a", message("u1", "Is called Ada."));
    expectParts(await manager.learnDue({ dryRun: true }), { sessions: 2, withoutUser: 0 });
    expectParts(await manager.learnDue(), { sessions: 1, failed: [], withoutUser: 1, isMoreDue: false });
    expectParts(await manager.learnDue(), { sessions: 0, failed: [], withoutUser: 1, isMoreDue: false });
    expect([given, await store.sessions.due()]).toEqual([[["u1"]], ["nobody"]]);
    await store.sessions.create({ id: "nobody", name: "", userId: "nemo" });
    expectParts(await manager.learnDue(), { sessions: 1, withoutUser: 0 });
    expect(await memoryOf(manager.forUser("nemo"), "nobody")).toBe("Is called Nemo.");
  });

  it("learns for one user alone", async ({ store }) => {
    const { learn } = learning();
    const manager = SessionManager.create(store).withContext("memory", { scope: "user" }).onLearning(learn);
    const [ada, bob] = [manager.forUser("ada"), manager.forUser("bob")];
    await ada.append("a", message("u1", "Is called Ada."));
    await bob.append("b", message("u1", "Is called Bob."));
    expect((await ada.learnDue()).sessions).toBe(1);
    expect([await memoryOf(ada, "a"), await memoryOf(bob, "b")]).toEqual(["Is called Ada.", ""]);
    // Nobody need name the users.
    const everyone = SessionManager.create(store).withContext("memory", { scope: "user" }).onLearning(learn);
    expect((await everyone.learnDue()).sessions).toBe(1);
    expect(await memoryOf(bob, "b")).toBe("Is called Bob.");
  });
});
