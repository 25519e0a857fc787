import type { LearnEdit, LearnRequest } from "@stemma/session";
import { AgentSearchProvider, SessionManager } from "@stemma/session";
import type { Store } from "@stemma/store";
import { expect, expectParts } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";
import { fact, SCOPE } from "./learned-facts.js";

/** A user's facts and notes, learned by an extractor that gives `edits`; somebody acts just before what it learned is stored. */
function world(everything: Store, edits: (request: LearnRequest) => readonly LearnEdit[]) {
  const store = everything.forUser("ada");
  const noticed = { asked: 0, skipped: [] as string[], errors: [] as string[] };
  const state = { before: async () => {} };
  const writing: Store = {
    ...store,
    async writeTogether(writes) {
      const { before } = state;
      if (writes.some((each) => "entries" in each || "block" in each)) await before();
      return store.writeTogether(writes);
    },
  };
  const manager = SessionManager.create(writing)
    .withContext("facts", { provider: new AgentSearchProvider(writing, { scope: "user" }) })
    .withContext("notes", { scope: "user" })
    .onLearning(async (request) => {
      noticed.asked += 1;
      return { edits: edits(request), usage: { inputTokens: 10, outputTokens: 1, cost: 0.5 } };
    });
  return {
    store,
    manager,
    noticed,
    /** Says something in a session, from which is learned; `before` acts ahead of each write of it. */
    async learn(said: string, before = async () => {}, id = "chat") {
      state.before = before;
      const session = manager.getSession(id);
      const stop = session.subscribe((event) => {
        if (event.type === "learning") noticed.skipped = event.skipped.map(({ reason }) => reason);
        if (event.type === "cf_agent_session_error") noticed.errors.push(event.error);
      });
      if (said !== "") await session.appendMessage(message("m", said));
      await session.close();
      stop();
    },
    set: (key: string, content: string, more = {}) => store.entries.set(SCOPE, { key, content, ...more }),
    get: (key: string) => store.entries.get(SCOPE, key),
    holding: async () => (await store.entries.list(SCOPE)).map(({ content }) => content).toSorted(),
  };
}

/** Acts the first time that it is called. */
function once(act: () => Promise<void>): () => Promise<void> {
  let left = 1;
  return async () => {
    if (left-- > 0) await act();
  };
}

/** Learning while others write, and answers that contradict themselves. */
export const learningConflicts = defineTopic("learning conflicts", (it) => {
  it("leaves open what a person changes at the moment in which it would be closed", async ({ store }) => {
    const edits = [fact("lisbon", "Lives in Lisbon.", { validFrom: "2026-05-20", supersedes: ["berlin"] })];
    const facts = world(store, () => edits);
    await facts.set("berlin", "Lives in Berlin.", { tags: ["subject:home"], validFrom: "2024-03-01" });
    await facts.learn(
      "I moved.",
      once(() => facts.set("berlin", "Lives in Berlin and Rome.")),
    );
    expect([facts.noticed, await facts.holding()]).toEqual([
      { asked: 1, skipped: ['nothing is closed: "berlin" was changed meanwhile'], errors: [] },
      ["Lives in Berlin and Rome.", "Lives in Lisbon."],
    ]);
    expectParts(await facts.get("berlin"), { validTo: null, supersededBy: [] });
    // Its dates count as its text does: it begins later now, so what was learned is the older one.
    await facts.store.entries.delete(SCOPE, "lisbon", { keepVersions: 0 });
    await facts.learn(
      "I moved.",
      once(() => facts.set("berlin", "Lives in Berlin and Rome.", { validFrom: "2026-06-01" })),
      "other",
    );
    expectParts(await facts.get("berlin"), { validFrom: "2026-06-01T00:00:00.000Z", validTo: null });
    expectParts(await facts.get("lisbon"), { validTo: "2026-06-01T00:00:00.000Z", supersedes: [] });
  });

  it("stores of an answer that contradicts itself what can be true", async ({ store }) => {
    let edits: LearnEdit[] = [];
    const facts = world(store, () => edits);
    const since = (validFrom: string) => ({ validFrom, tags: ["subject:home"] });
    await facts.set("berlin", "Lives in Berlin.", since("2024-01-01"));
    await facts.set("rome", "Lives in Rome.", since("2025-01-01"));
    const closing = (key: string, ...supersedes: string[]) =>
      fact(key, `Now in ${key}.`, { validFrom: "2026-01-01", supersedes });
    edits = [
      fact("berlin", "", { action: "remove" }),
      closing("oslo", "berlin"),
      { ...closing("rome"), action: "replace", validFrom: undefined },
      closing("porto", "rome", "oslo"),
    ];
    await facts.learn("I moved.", undefined, "one");
    expectParts(facts.noticed, { errors: [], asked: 1 });
    expect(facts.noticed.skipped).toEqual([
      'nothing is closed: "berlin" was changed meanwhile',
      'nothing is closed: "rome" was changed meanwhile',
      'nothing is closed: "oslo" began at the same time',
    ]);
    expect(await facts.holding()).toEqual(["Now in oslo.", "Now in porto.", "Now in rome."]);
    // Each of two in the place of the other, and both of a third.
    edits = [
      { ...closing("rome", "oslo"), content: "In Rome.", action: "replace", validFrom: "2026-02-01" },
      { ...closing("oslo", "rome"), content: "In Oslo.", action: "replace", validFrom: "2026-03-01" },
      { ...closing("bern", "porto"), validFrom: "2026-04-01" },
      { ...closing("graz", "porto"), validFrom: "2026-05-01" },
    ];
    await facts.learn("I moved.", undefined, "two");
    expectParts(facts.noticed, { errors: [], asked: 2 });
    // Of two in one place, the earlier ends where the later begins.
    expectParts(await facts.get("porto"), { validTo: "2026-04-01T00:00:00.000Z", supersededBy: ["bern", "graz"] });
    expectParts(await facts.get("bern"), { validTo: "2026-05-01T00:00:00.000Z", supersededBy: ["graz"] });
    // What is written anew with a later beginning takes the place of what it was.
    expectParts(await facts.get("rome"), { content: "Now in rome.", validTo: "2026-02-01T00:00:00.000Z" });
    expectParts(await facts.get("oslo"), { content: "Now in oslo.", validTo: "2026-02-01T00:00:00.000Z" });
  });

  it("leaves removed or ended what a person removes or ends while learning runs", async ({ store }) => {
    for (const action of ["add", "replace", "remove"] as const) {
      for (const isEnded of [false, true]) {
        const facts = world(store, () => [fact("tea", `To ${action}.`, { action, validFrom: "2026-06-01" })]);
        const { entries } = facts.store;
        await facts.set("tea", "Drinks tea.");
        const act = async () => {
          if (isEnded) await facts.set("tea", "Drinks tea.", { validTo: "2026-05-01" });
          else await entries.delete(SCOPE, "tea");
        };
        await facts.learn("About tea.", act, `${action} ${isEnded}`);
        expect([action, isEnded, await facts.holding()]).toEqual([action, isEnded, []]);
        expect(facts.noticed.skipped).toEqual([`somebody ${isEnded ? "changed" : "removed"} the entry meanwhile`]);
        await entries.delete(SCOPE, "tea", { keepVersions: 0 });
      }
    }
  });

  it("stores the rest of an answer of which the store refuses one edit", async ({ store }) => {
    const facts = world(store, () => [
      fact("circle", "Lives in Rome.", { subject: "x", validFrom: "2023-01-01", supersedes: ["late"] }),
      fact("tea", "Drinks tea.", { subject: "diet" }),
    ]);
    // The successor began before it: what it says of itself cannot be true.
    await facts.set("circle", "Lives in Bonn.", { validFrom: "2024-01-01", tags: ["subject:x"] });
    const late = { validFrom: "2022-01-01", supersedes: ["circle"], tags: ["subject:x"] };
    await facts.set("late", "Lives in Graz.", late);
    await facts.learn("I moved.");
    expect([facts.noticed.errors, await facts.holding()]).toEqual([[], ["Drinks tea.", "Lives in Graz."]]);
    expect(facts.noticed.skipped.map((reason) => reason.includes("its own successor"))).toEqual([true]);
  });

  it("counts edits that the store refuses again and again as a failure, so that the model is asked three times", async ({
    store,
  }) => {
    const { learn, noticed, manager } = world(store, () => [
      { action: "add", label: "notes", content: "Drinks tea.", messageIds: ["m"] },
    ]);
    let writes = 0;
    const before = async () => {
      writes += 1;
      await store
        .forUser("ada")
        .blocks.append({ sessionId: "", kind: "block", label: "notes", scope: "user" }, `note ${writes}`, {
          maxTokens: 9999,
        });
    };
    await learn("I drink tea.", before);
    for (let round = 0; round < 4; round += 1) await learn("", before);
    expect([noticed.asked, noticed.errors.length, writes]).toEqual([3, 3, 30]);
    expect((await manager.learnDue()).sessions).toBe(0);
    expect((await manager.get("chat"))?.estimated_cost).toBe(1.5);
  });

  it("leaves a session where it stands in lists, though learning from it cost something", async ({ store }) => {
    const { manager } = world(store, () => []);
    for (const id of ["old", "new"]) {
      await manager.append(id, message("m", "I drink tea."));
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    const before = await manager.list();
    expect((await manager.learnDue()).usage.cost).toBe(1);
    const after = await manager.list();
    expect(after.map(({ id, updated_at }) => [id, updated_at])).toEqual(
      before.map(({ id, updated_at }) => [id, updated_at]),
    );
    expect(after.map(({ estimated_cost }) => estimated_cost)).toEqual([0.5, 0.5]);
    await store.sessions.addUsage("old", 1, 1, 0, "a model that answers");
    expect((await manager.list())[0]?.id).toBe("old");
  });

  it("closes a fact once where two chats learn at once what ends it, and loses neither of both", async ({ store }) => {
    const facts = world(store, ({ messages: [said] }) => {
      const city = said?.parts[0]?.text ?? "";
      const validFrom = city === "Lisbon" ? "2025-06-01" : "2026-06-01";
      return [fact(city, `Lives in ${city}.`, { validFrom, supersedes: ["berlin"] })];
    });
    await facts.set("berlin", "Lives in Berlin.", { tags: ["subject:home"], validFrom: "2024-03-01" });
    const other = facts.manager.getSession("other");
    await other.appendMessage(message("m", "Porto"));
    await facts.learn(
      "Lisbon",
      once(() => other.close()),
    );
    expect([facts.noticed, await facts.holding()]).toEqual([
      { asked: 2, skipped: ['nothing is closed: "berlin" has an end already'], errors: [] },
      ["Lives in Lisbon.", "Lives in Porto."],
    ]);
    expectParts(await facts.get("berlin"), { validTo: "2026-06-01T00:00:00.000Z", supersededBy: ["porto"] });
    expectParts(await facts.manager.learnDue(), { messages: 0, failed: [] });
  });

  it("learns each message once where two look at once for what is due in one process", async ({ store }) => {
    const { manager, noticed } = world(store, ({ messages }) =>
      messages.map(({ id }) => ({ action: "add", label: "notes", content: `Said ${id}.`, messageIds: [id] })),
    );
    const ids = ["a", "b", "c"];
    for (const id of ids) await manager.append(id, message(`of-${id}`, "I drink tea."));
    const receipts = await Promise.all([manager.learnDue(), manager.learnDue(), manager.getSession("a").close()]);
    expect([noticed.asked, receipts.flatMap((each) => each?.failed ?? [])]).toEqual([3, []]);
    const notes = (await manager.readContextBlock("a", "notes"))?.content.split("\n").toSorted();
    expect(notes).toEqual(ids.map((id) => `Said of-${id}.`));
    expect([await store.sessions.due(), (await manager.getUsage({ by: "model" }))[0]?.requests]).toEqual([[], 3]);
  });
});
