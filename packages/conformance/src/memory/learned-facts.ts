import type { LearnEdit, LearnRequest } from "@stemma/session";
import { AgentSearchProvider, SessionManager } from "@stemma/session";
import type { EntryScope, Store } from "@stemma/store";
import { expect, expectParts } from "../assert.js";
import { message } from "../samples.js";
import { defineTopic } from "../topic.js";

/** Where the facts of these cases stand. */
export const SCOPE: EntryScope = { sessionId: "", label: "facts", scope: "user" };

/** An edit that adds a fact about the user's home, from message "m". */
export const fact = (key: string, content: string, more: Partial<LearnEdit> = {}): LearnEdit => ({
  action: "add",
  label: "facts",
  key,
  content,
  subject: "home",
  messageIds: ["m"],
  ...more,
});

/** A user's facts, as entries, and a way to say something that a script learns from. */
export function world(everything: Store, { user = "ada", label }: { user?: string; label?: string } = {}) {
  const store = everything.forUser(user);
  const given: LearnRequest[] = [];
  let script: (request: LearnRequest) => readonly LearnEdit[] | PromiseLike<readonly LearnEdit[]> = () => [];
  let skipped: readonly { readonly reason: string }[] = [];
  const manager = SessionManager.create(store)
    .withContext("facts", { provider: new AgentSearchProvider(store, { scope: "user", label }) })
    .onLearning(async (request) => {
      given.push(request);
      return script(request);
    });
  return {
    store,
    given,
    get skipped() {
      return skipped.map(({ reason }) => reason);
    },
    /** Says something in a session of its own, unless one is named. */
    async learn(
      said: string,
      edits: typeof script | readonly LearnEdit[],
      createdAt = "2026-06-01T10:00:00.000Z",
      id: string = crypto.randomUUID(),
    ) {
      script = typeof edits === "function" ? edits : () => edits;
      const session = manager.getSession(id);
      skipped = [];
      const stop = session.subscribe((event) => {
        if (event.type === "learning") skipped = event.skipped;
        if (event.type === "cf_agent_session_error") throw new RangeError(event.error);
      });
      await session.appendMessage({ ...message("m", said), createdAt });
      await session.close();
      stop();
      return id;
    },
    holding: async () => (await store.entries.list(SCOPE)).map(({ content }) => content).toSorted(),
    get: (key: string) => store.entries.get(SCOPE, key),
  };
}

/** Facts that are learned as entries: what is no longer true is closed. */
export const learnedFacts = defineTopic("learned facts", (it) => {
  it("takes the key of an entry that was shown as it stands, and any other for a title", async ({ store }) => {
    const ada = world(store);
    await ada.store.entries.set(SCOPE, { key: "Drink", content: "Likes tea." });
    const edit = (key: unknown, content: string) =>
      fact(key as string, content, { action: "replace", subject: undefined });
    await ada.learn("I like milk.", [edit("Drink", "Likes milk."), edit("Food", "Likes plums.")]);
    await ada.learn("I like figs.", [edit("food", "Likes figs."), edit(5, "x"), fact("DRINK", "Likes juice.")]);
    const found = (await ada.store.entries.list(SCOPE)).map(({ key, content }) => `${key}: ${content}`);
    expect(found).toEqual(["Drink: Likes milk.", "drink: Likes juice.", "food: Likes figs."]);
    expect(ada.skipped).toEqual(["it is no edit"]);
  });

  it("closes what a later fact of the same subject makes untrue, and shows dates and beginnings", async ({ store }) => {
    const { learn, get, given, holding } = world(store);
    await learn("I live in Berlin.", [fact("berlin", "Lives in Berlin.", { validFrom: "2024-03-01" })]);
    await learn("I moved to Lisbon.", [
      fact("lisbon", "Lives in Lisbon.", { validFrom: "2026-05-20", supersedes: ["berlin"] }),
    ]);
    expect(given[1]?.entries).toEqual([
      {
        label: "facts",
        key: "berlin",
        content: "Lives in Berlin.",
        validFrom: "2024-03-01T00:00:00.000Z",
        subject: "home",
      },
    ]);
    expect(given[1]?.messages[0]?.createdAt).toBe("2026-06-01T10:00:00.000Z");
    expect(await holding()).toEqual(["Lives in Lisbon."]);
    const [berlin, lisbon] = [await get("berlin"), await get("lisbon")];
    expect([berlin?.validTo, berlin?.supersededBy]).toEqual(["2026-05-20T00:00:00.000Z", ["lisbon"]]);
    expect([lisbon?.origin, lisbon?.validFrom, lisbon?.tags]).toEqual([
      "learning",
      "2026-05-20T00:00:00.000Z",
      ["subject:home"],
    ]);
    // Without a date of its own it began when it was said; a key that is taken is not its own.
    await learn(
      "I live in Porto now.",
      [fact("lisbon", "Lives in Porto.", { supersedes: ["lisbon"] })],
      "2026-08-01T00:00:00.000Z",
    );
    expect([await holding(), (await get("lisbon"))?.validTo]).toEqual([
      ["Lives in Porto."],
      "2026-08-01T00:00:00.000Z",
    ]);
  });

  it("closes nothing else, whatever the function names", async ({ store }) => {
    const facts = world(store);
    const { learn, holding } = facts;
    await learn("a", [
      fact("berlin", "Lives in Berlin.", { validFrom: "2024-03-01" }),
      fact("baker", "Works as a baker.", { subject: "work" }),
    ]);
    await facts.store.entries.set(SCOPE, { key: "tea", content: "Drinks tea." });
    await learn("b", ({ entries }) => [
      fact("lisbon", "Lives in Lisbon.", {
        validFrom: "2026-05-20",
        supersedes: [...entries.map(({ key }) => key), "invented"],
      }),
    ]);
    expect(await holding()).toEqual(["Drinks tea.", "Lives in Lisbon.", "Works as a baker."]);
    expect(facts.skipped.toSorted()).toEqual([
      'nothing is closed: "baker" is of another subject',
      'nothing is closed: "invented" was not shown',
      'nothing is closed: "tea" is of another subject',
    ]);
    // What is no date leaves the beginning unknown, and no list names no keys.
    await learn("c", [
      fact("x", "Likes x.", { subject: "x", validFrom: "soon" }),
      fact("y", "Likes y.", { supersedes: "tea" as never }),
    ]);
    expect((await facts.get("x"))?.validFrom).toBe(null);
    expect(facts.skipped).toEqual(["its beginning is unknown: its validFrom is no date", "it is no edit"]);
  });

  it("stores what is told late, and is older, as closed", async ({ store }) => {
    const { learn, get, holding } = world(store);
    await learn("a", [fact("lisbon", "Lives in Lisbon.", { validFrom: "2026-05-20" })]);
    await learn("b", [fact("berlin", "Lives in Berlin.", { supersedes: ["lisbon"] })], "2019-01-01T00:00:00.000Z");
    expect(await holding()).toEqual(["Lives in Lisbon."]);
    const berlin = await get("berlin");
    expect([berlin?.validFrom, berlin?.validTo]).toEqual(["2019-01-01T00:00:00.000Z", "2026-05-20T00:00:00.000Z"]);
  });

  it("leaves what a person edits while learning runs", async ({ store }) => {
    const facts = world(store);
    const { learn, get, holding } = facts;
    await learn("a", [fact("berlin", "Lives in Berlin.", { validFrom: "2024-03-01" })]);
    const edited = async (edits: LearnEdit[]) => {
      await facts.store.entries.set(SCOPE, { key: "berlin", content: "Lives in Berlin and Rome." });
      return edits;
    };
    await learn("b", () => edited([fact("lisbon", "Lives in Lisbon.", { supersedes: ["berlin"] })]));
    expect([await holding(), facts.skipped]).toEqual([
      ["Lives in Berlin and Rome.", "Lives in Lisbon."],
      ['nothing is closed: "berlin" was changed meanwhile'],
    ]);
    await facts.store.entries.set(SCOPE, { key: "berlin", content: "Lives in Berlin." });
    await learn("c", () => edited([fact("berlin", "Lives in Oslo.", { action: "replace" })]));
    expect([(await get("berlin"))?.content, facts.skipped]).toEqual([
      "Lives in Berlin and Rome.",
      ["somebody changed the entry meanwhile"],
    ]);
  });

  it("brings nothing back that was forgotten or has ended, though the same messages are learned again", async ({
    store,
  }) => {
    const facts = world(store);
    const { learn, holding } = facts;
    const said = () => [fact("berlin", "Lives in Berlin.", { validFrom: "2024-03-01" })];
    const id = await learn("a", said(), undefined, "one");
    const again = async (edits: LearnEdit[]) => {
      await facts.store.session(id).clear();
      await facts.store.records.delete({ sessionId: id, label: "learning" }, "state");
      await learn("a", edits, undefined, id);
    };
    await facts.store.entries.delete(SCOPE, "berlin");
    await again(said());
    await again([fact("city", "The user's city is Berlin.")]);
    expect([await holding(), facts.skipped]).toEqual([[], ["it was removed after it was learned"]]);
    await learn("b", [fact("rome", "Lives in Rome.", { validFrom: "2025-01-01" })], undefined, "two");
    await learn("c", [fact("oslo", "Lives in Oslo.", { supersedes: ["rome"] })]);
    await facts.store.session("two").clear();
    await facts.store.records.delete({ sessionId: "two", label: "learning" }, "state");
    await learn("b", [fact("roma", "Lives in Rome.")], undefined, "two");
    expect(await holding()).toEqual(["Lives in Oslo."]);
  });

  it("brings nothing back that was forgotten, whatever label the store keeps it under", async ({ store }) => {
    const facts = world(store, { label: "kept" });
    const tea = [fact("tea", "Drinks tea.")];
    await facts.learn("I drink tea.", tea, undefined, "one");
    await facts.store.entries.delete({ ...SCOPE, label: "kept" }, "tea");
    await facts.store.session("one").clear();
    await facts.store.records.delete({ sessionId: "one", label: "learning" }, "state");
    await facts.learn("I drink tea.", tea, undefined, "one");
    expect(facts.skipped).toEqual(["it was removed after it was learned"]);
    expect(await facts.store.entries.list({ ...SCOPE, label: "kept" })).toEqual([]);
  });

  it("brings nothing back that the model noted and somebody removed, and learns what else the removing message says", async ({
    store,
  }) => {
    const facts = world(store);
    const { learn, holding } = facts;
    const origin = (sessionId: string) => ({ author: "model", sessionId, messageIds: ["m"] }) as const;
    await facts.store.entries.set(SCOPE, { key: "tea", content: "Drinks tea." }, { origin: origin("one") });
    await facts.store.entries.delete(SCOPE, "tea", { origin: origin("two") });
    await learn("I drink tea.", [fact("drink", "The user drinks tea.", { subject: "diet" })], undefined, "one");
    expect([await holding(), facts.skipped]).toEqual([[], ["it was removed after it was learned"]]);
    await learn("Forget the tea. I live in Oslo.", [fact("oslo", "Lives in Oslo.")], undefined, "two");
    expect(await holding()).toEqual(["Lives in Oslo."]);
  });

  it("leaves the tags that others gave, and an entry that ended before what it learns began", async ({ store }) => {
    const facts = world(store);
    const { learn, get } = facts;
    await facts.store.entries.set(SCOPE, { key: "berlin", content: "Lives in Berlin.", tags: ["mine"] });
    await learn("a", [fact("berlin", "Lives in Berlin, Mitte.", { action: "replace" })]);
    expectParts(await get("berlin"), { content: "Lives in Berlin, Mitte.", tags: ["mine", "subject:home"] });
    const ended = { key: "rome", content: "Lives in Rome.", validFrom: "2020-01-01", validTo: "2021-01-01" };
    await facts.store.entries.set(SCOPE, ended);
    const edits = [
      fact("rome", "Lives in Rome again.", { action: "replace", validFrom: "2026-01-01" }),
      fact("oslo", "Has a flat in Oslo."),
    ];
    await learn("b", edits);
    expectParts(await get("rome"), { content: "Lives in Rome.", validTo: "2021-01-01T00:00:00.000Z" });
    expect([facts.skipped, (await facts.holding()).includes("Lives in Rome again.")]).toEqual([[], true]);
    expectParts(await get("oslo"), { content: "Has a flat in Oslo." });
  });

  it("puts facts in the order of their beginnings, in whichever order they are told", async ({ store }) => {
    const told = {
      a: { key: "a", content: "Lives in Aachen.", validFrom: "2010-01-01", createdAt: "2025-01-01T00:00:00.000Z" },
      b: { key: "b", content: "Lives in Berlin.", validFrom: "2015-01-01", createdAt: "2025-01-01T00:00:00.000Z" },
      // It began when it was said.
      c: { key: "c", content: "Lives in Cairo.", validFrom: undefined, createdAt: "2024-01-01T00:00:00.000Z" },
    };
    for (const order of ["abc", "acb", "bac", "bca", "cab", "cba"]) {
      const { learn, get, holding, store: own } = world(store, { user: order });
      for (const name of order) {
        const { key, content, validFrom, createdAt } = told[name as keyof typeof told];
        await learn(
          content,
          ({ entries }) => [fact(key, content, { validFrom, supersedes: entries.map((each) => each.key) })],
          createdAt,
        );
      }
      const spans = async () => {
        const found = await Promise.all(["a", "b", "c"].map(get));
        return found.map((each) => [each?.validFrom?.slice(0, 4), each?.validTo?.slice(0, 4)]);
      };
      const wanted = [
        ["2010", "2015"],
        ["2015", "2024"],
        ["2024", undefined],
      ];
      expect([order, await spans(), await holding()]).toEqual([order, wanted, ["Lives in Cairo."]]);
      for (const [time, key] of [
        ["2012-01-01", "a"],
        ["2020-01-01", "b"],
        ["2024-06-01", "c"],
      ]) {
        const held = await own.entries.list(SCOPE, { asOf: time });
        expect(held.map((each) => each.key)).toEqual([key]);
      }
      await own.entries.delete(SCOPE, "c");
      expect([order, await holding()]).toEqual([order, ["Lives in Berlin."]]);
      await own.entries.delete(SCOPE, "b");
      expect([order, await holding()]).toEqual([order, ["Lives in Aachen."]]);
    }
  });

  it("puts facts of one answer in order, and leaves what is of another subject", async ({ store }) => {
    const { learn, get, holding } = world(store);
    await learn("a", [
      fact("cairo", "Lives in Cairo.", { validFrom: "2024-01-01" }),
      fact("cook", "Works as a cook.", { validFrom: "2012-01-01", subject: "work" }),
    ]);
    const supersedes = ["cairo"];
    await learn("b", [
      fact("aachen", "Lives in Aachen.", { validFrom: "2010-01-01", supersedes }),
      fact("berlin", "Lives in Berlin.", { validFrom: "2015-01-01", supersedes }),
      fact("bonn", "Lives in Bonn.", { validFrom: "2005-01-01", supersedes }),
    ]);
    const ends = await Promise.all(["bonn", "aachen", "berlin", "cairo"].map(async (key) => (await get(key))?.validTo));
    const year = (number: number) => `${number}-01-01T00:00:00.000Z`;
    expect(ends).toEqual([year(2010), year(2015), year(2024), null]);
    expect(await holding()).toEqual(["Lives in Cairo.", "Works as a cook."]);
    expect((await get("cairo"))?.origin).toBe("learning");
  });

  it("begins an entry when its message was written, but not later than now, and leaves that of a known one", async ({
    store,
  }) => {
    const { learn, get, holding } = world(store);
    await learn("a", [fact("tea", "Drinks tea.", { subject: undefined })], "2020-05-01T10:00:00.000Z");
    expect((await get("tea"))?.validFrom).toBe("2020-05-01T10:00:00.000Z");
    await learn("b", [fact("tea", "Takes no sugar.", { subject: undefined })], "2024-05-01T10:00:00.000Z");
    expectParts(await get("tea"), { content: "Drinks tea.\nTakes no sugar.", validFrom: "2020-05-01T10:00:00.000Z" });
    await learn("c", [fact("milk", "Drinks milk.")], "2999-01-01T00:00:00.000Z");
    expect(await holding()).toEqual(["Drinks milk.", "Drinks tea.\nTakes no sugar."]);
    // Of two that were told at once the later one holds.
    await learn("d", [fact("oat", "Drinks oat milk.")], "2025-01-01T00:00:00.000Z");
    await learn("e", [fact("soy", "Drinks soy milk.", { supersedes: ["oat"] })], "2025-01-01T00:00:00.000Z");
    expect(await holding()).toExclude("Drinks oat milk.");
  });

  it("knows a fact that has ended when it is told again", ["search"], async ({ store }) => {
    const facts = world(store);
    const { learn, holding } = facts;
    await learn("a", [fact("lisbon", "Lives in Lisbon.", { validFrom: "2024-01-01" })]);
    const old = (key: string, more = {}) =>
      fact(key, "Lived in Berlin.", { validFrom: "2010-01-01", supersedes: ["lisbon"], ...more });
    await learn("b", [old("berlin")]);
    await learn("c", [old("city", { content: "lived in  Berlin" })]);
    expect(facts.skipped).toEqual(["it says nothing new"]);
    await learn("d", [old("then", { validFrom: undefined, supersedes: [] })], "2012-01-01T00:00:00.000Z");
    expect(facts.skipped).toEqual(["it says nothing new"]);
    const all = await facts.store.entries.list(SCOPE, { includeEnded: true });
    expect(all.map(({ key }) => key)).toEqual(["berlin", "lisbon"]);
    // Another time, and another subject, are something new.
    await learn("e", [
      old("before", { validFrom: "2030-01-01", supersedes: [] }),
      old("work", { subject: "work", supersedes: [] }),
    ]);
    expect([facts.skipped, await facts.store.entries.count(SCOPE, { includeEnded: true })]).toEqual([[], 4]);
    await learn("f", [fact("lissabon", "Lives in Lisbon.")]);
    const held = ["Lived in Berlin.", "Lives in Lisbon."];
    expect([facts.skipped, await holding()]).toEqual([["it says nothing new"], held]);
  });
});
