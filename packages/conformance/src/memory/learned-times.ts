import type { LearnEdit } from "@stemma/session";
import { expect, expectParts } from "../assert.js";
import { defineTopic } from "../topic.js";
import { fact, SCOPE, world } from "./learned-facts.js";

const HOME = { tags: ["subject:home"] };
const year = (number: number) => `${number}-01-01T00:00:00.000Z`;

/** When learned facts began and ended: as dates tell, and as they follow from each other. */
export const learnedTimes = defineTopic("learned times", (it) => {
  it("reads years, months and times without a zone, and closes nothing by what is no date", async ({ store }) => {
    const facts = world(store);
    const { entries } = facts.store;
    await entries.set(SCOPE, { key: "rome", content: "Lives in Rome.", validFrom: "2020-01-01", ...HOME });
    const since = (validFrom: unknown, key = `pisa ${validFrom}`) =>
      fact(key, `Lives in ${key}.`, { validFrom: validFrom as string, supersedes: ["rome"] });
    await facts.learn("a", [since("2015")]);
    expectParts(await facts.get("pisa-2015"), { validFrom: year(2015), validTo: year(2020) });
    const unread = ["last May", "2021-02-30", "2021-13", 20, "9999-12-31T23:30-01:00", {}];
    await facts.learn(
      "b",
      unread.map((given, index) => since(given, `x${index}`)),
    );
    expect(facts.skipped).toEqual(unread.map(() => "nothing is closed: its validFrom is no date"));
    expectParts(await facts.get("x0"), { validFrom: null, validTo: null, supersedes: [] });
    expectParts(await facts.get("rome"), { validTo: null });
    const read: [unknown, string][] = [
      ["2021-05-01T10:00", "2021-05-01T10:00:00.000Z"],
      ["2021-05-02 10:00:01.5", "2021-05-02T10:00:01.500Z"],
      ["2021-05-03T10:00+0200", "2021-05-03T08:00:00.000Z"],
      ["2021-06", "2021-06-01T00:00:00.000Z"],
      [2022, year(2022)],
    ];
    await facts.learn(
      "c",
      read.map(([given], index) => ({ ...since(given, `y${index}`), supersedes: index === 0 ? ["rome"] : [] })),
    );
    const begun = await Promise.all(read.map(async (_, index) => (await facts.get(`y${index}`))?.validFrom));
    expect([facts.skipped, begun]).toEqual([[], read.map(([, time]) => time)]);
    expectParts(await facts.get("rome"), { validTo: "2021-05-01T10:00:00.000Z" });
  });

  it("orders what begins in other zones by the same clock, from the year 0 to 9999", async ({ store }) => {
    const facts = world(store);
    const { entries } = facts.store;
    const berlin = { key: "berlin", content: "Lives in Berlin.", validFrom: "2025-06-01T00:30+02:00", ...HOME };
    await entries.set(SCOPE, berlin);
    expectParts(await facts.get("berlin"), { validFrom: "2025-05-31T22:30:00.000Z" });
    const since = (key: string, validFrom: string, closes: string) =>
      fact(key, `Lives in ${key}.`, { validFrom, supersedes: [closes] });
    // By the clock on the wall it is earlier.
    await facts.learn("a", [since("lisbon", "2025-06-01T00:15+01:00", "berlin")]);
    expectParts(await facts.get("berlin"), { validTo: "2025-05-31T23:15:00.000Z", supersededBy: ["lisbon"] });
    await facts.learn("b", [since("ur", "0000", "lisbon"), since("mars", "9999-12-31", "lisbon")]);
    expect(facts.skipped).toEqual([]);
    expectParts(await facts.get("ur"), { validFrom: "0000-01-01T00:00:00.000Z", validTo: "2025-05-31T22:30:00.000Z" });
    expectParts(await facts.get("lisbon"), { validTo: "9999-12-31T00:00:00.000Z" });
    expect(await facts.holding()).toEqual(["Lives in lisbon."]);
    const at = async (asOf: string) => (await entries.list(SCOPE, { asOf })).map(({ key }) => key);
    const times = ["0000-01-01", "2025-06-01T01:00+02:00", "2025-06-01T01:15+02:00", "9999-12-31T23:59:59.999Z"];
    expect(await Promise.all(times.map(at))).toEqual([["ur"], ["berlin"], ["lisbon"], ["mars"]]);
  });

  it("takes what is older than the writing of an entry without a beginning for older, and ends it there", async ({
    store,
  }) => {
    for (const when of [{ validFrom: "2015-01-01" }, { told: "2019-01-01T00:00:00.000Z" }]) {
      const { told, ...dated } = { told: undefined, ...when };
      const facts = world(store, { user: `of ${told}` });
      const { entries } = facts.store;
      await entries.set(SCOPE, { key: "lisbon", content: "Lives in Lisbon.", ...HOME });
      const written = (await facts.get("lisbon"))?.createdAt;
      const pisa = fact("pisa", "Lives in Pisa.", { ...dated, supersedes: ["lisbon"] });
      await facts.learn("a", [pisa], told);
      expect([facts.skipped, await facts.holding()]).toEqual([[], ["Lives in Lisbon."]]);
      expectParts(await facts.get("pisa"), { validTo: written, supersededBy: ["lisbon"] });
      expectParts(await facts.get("lisbon"), { validFrom: null, validTo: null, supersedes: ["pisa"] });
      // What is older still takes its place behind it.
      const bonn = fact("bonn", "Lives in Bonn.", { validFrom: "2010", supersedes: ["lisbon"] });
      await facts.learn("b", [bonn]);
      expectParts(await facts.get("bonn"), { validTo: (await facts.get("pisa"))?.validFrom, supersededBy: ["pisa"] });
      const oslo = fact("oslo", "Lives in Oslo.", { validFrom: "2999", supersedes: ["lisbon"] });
      await facts.learn("c", [oslo]);
      expectParts(await facts.get("lisbon"), { validTo: year(2999), supersedes: ["pisa"] });
      await entries.delete(SCOPE, "lisbon");
      expectParts(await facts.get("pisa"), { validTo: year(2999), supersededBy: ["oslo"] });
    }
  });

  it("gives a state that comes again an entry of its own, as often as it comes", async ({ store }) => {
    const facts = world(store);
    const { learn, holding } = facts;
    const cities = ["Rome", "Berlin", "Rome", "Berlin", "Rome"];
    const moved = async (city: string, at: number, more: Partial<LearnEdit> = {}) => {
      const closes = (await facts.store.entries.list(SCOPE)).map(({ key }) => key);
      const validFrom = String(2016 + 2 * at);
      await learn(city, [fact(city.toLowerCase(), `Lives in ${city}.`, { validFrom, supersedes: closes, ...more })]);
      expect([facts.skipped, await holding()]).toEqual([[], [`Lives in ${city}.`]]);
    };
    for (const [at, city] of cities.entries()) await moved(city, at);
    for (const [at, city] of cities.entries()) {
      const then = await facts.store.entries.list(SCOPE, { asOf: String(2017 + 2 * at).concat("-01-01") });
      expect(then.map(({ content }) => content)).toEqual([`Lives in ${city}.`]);
    }
    // Other words, though none say that it takes a place, and the very edit once more.
    await facts.store.entries.set(SCOPE, {
      key: "ill",
      content: "Is ill.",
      validFrom: "2020-01-01",
      validTo: "2020-02-01",
    });
    for (const action of ["add", "replace"] as const) {
      const health = { subject: "health", action };
      await learn("ill", [fact("ill", `Is ill, to ${action}.`, { ...health, validFrom: "2021" })]);
      await learn("ill", [fact("ill", `Is ill, to ${action}.`, { ...health, validFrom: "2021" })]);
      expect(facts.skipped).toEqual(["it says nothing new"]);
    }
    await learn("ill", [fact("ill", "Is ill.", { subject: "health" })]);
    expect(await holding()).toEqual(["Is ill, to add.", "Is ill, to replace.", "Is ill.", "Lives in Rome."]);
    expectParts(await facts.get("ill"), { content: "Is ill.", validTo: "2020-02-01T00:00:00.000Z" });
    await learn("well", [fact("ill", "", { action: "remove" })]);
    expect(facts.skipped).toEqual(["the entry that it names has ended"]);
  });

  it("puts several moves of one answer in a chain, in whichever order they stand", async ({ store }) => {
    const moves = {
      b: { content: "Lives in B.", validFrom: "2018" },
      c: { content: "Lives in C.", validFrom: "2021" },
      d: { content: "Lives in D.", validFrom: "2024" },
    };
    for (const names of ["bcd", "bdc", "cbd", "cdb", "dbc", "dcb"]) {
      for (const isNamed of [false, true]) {
        const facts = world(store, { user: `${names} ${isNamed}` });
        const { entries } = facts.store;
        await entries.set(SCOPE, { key: "a", content: "Lives in A.", validFrom: "2015-01-01", ...HOME });
        const edits = [...names].map((key, index) => {
          const { content, validFrom } = moves[key as keyof typeof moves];
          const earlier = isNamed ? [...names.slice(0, index)] : [];
          return fact(`The ${key}`, content, { validFrom, supersedes: ["a", ...earlier.map((each) => `The ${each}`)] });
        });
        await facts.learn("moved", edits);
        const spans = async () => {
          const all = await entries.list(SCOPE, { includeEnded: true });
          return all.map(({ key, validTo }) => [key, validTo?.slice(0, 4)]);
        };
        const wanted = [
          ["a", "2018"],
          ["the-b", "2021"],
          ["the-c", "2024"],
          ["the-d", undefined],
        ];
        expect([names, facts.skipped, await spans()]).toEqual([names, [], wanted]);
        await entries.delete(SCOPE, "the-c");
        expect(await spans()).toEqual([
          ["a", "2018"],
          ["the-b", "2024"],
          ["the-d", undefined],
        ]);
      }
    }
    // Only of one subject; and of two of one time none.
    const facts = world(store, { user: "others" });
    const since = { validFrom: "2020" };
    await facts.learn("moved", [
      fact("cook", "Works as a cook.", { ...since, subject: "work" }),
      fact("b", "Lives in B.", { validFrom: "2021", supersedes: ["cook"] }),
      fact("c", "Lives in C.", { validFrom: "2021", supersedes: ["b"] }),
      fact("d", "Lives in D.", { validFrom: undefined, supersedes: ["b"] }),
    ]);
    expect(facts.skipped).toEqual([
      'nothing is closed: "cook" is of another subject',
      'nothing is closed: "b" began at the same time',
    ]);
    expect(await facts.holding()).toEqual(["Lives in C.", "Lives in D.", "Works as a cook."]);
  });

  it("learns later when a fact began, and closes nothing by it", ["search"], async ({ store }) => {
    const facts = world(store);
    const { learn, get } = facts;
    const { entries } = facts.store;
    const again = (key: string, validFrom: string, content = "lives in Rome") => fact(key, content, { validFrom });
    await entries.set(SCOPE, { key: "pisa", content: "Lives in Pisa.", validFrom: "2015-01-01", ...HOME });
    await learn("a", [fact("rome", "Lives in Rome.", { supersedes: ["pisa"] })]);
    await learn("b", [again("rome", "2019-03")]);
    expectParts(await get("rome"), { content: "Lives in Rome.", validFrom: "2019-03-01T00:00:00.000Z" });
    expectParts(await get("pisa"), { validTo: "2019-03-01T00:00:00.000Z" });
    await learn("c", [{ ...again("roma", "2018"), action: "replace" }]);
    expectParts(await get("rome"), { validFrom: year(2018), origin: "learning" });
    expect(await get("roma")).toBe(null);
    // Neither later, nor before what it took the place of, nor without a date.
    for (const validFrom of ["2020", "2015", "2010", "soon", ""]) {
      await learn("d", [again("rome", validFrom)]);
      expect([validFrom, facts.skipped]).toEqual([validFrom, ["it says nothing new"]]);
    }
    // What a person dated stays; where nobody did, it is told.
    const set = (origin: "user" | "web" | undefined, validFrom?: string) =>
      entries.set(SCOPE, { key: "tea", content: "Drinks tea.", origin, validFrom: validFrom ?? null });
    const tea = async () => {
      await learn("e", [fact("tea", "Drinks tea.", { subject: undefined, validFrom: "2011" })]);
      const { validFrom, origin } = (await get("tea")) ?? {};
      return [validFrom, origin];
    };
    await set("user", "2020-01-01");
    expect(await tea()).toEqual([year(2020), "user"]);
    await set("web", "2020-01-01");
    expect(await tea()).toEqual([year(2011), "web"]);
    await set("user");
    expect(await tea()).toEqual([year(2011), "user"]);
    // What closes it in the same answer knows.
    await set("web", "2020-01-01");
    await learn("f", [
      fact("tea", "Drinks tea.", { subject: undefined, validFrom: "2005" }),
      fact("milk", "Drinks milk.", { subject: undefined, validFrom: "2008", supersedes: ["tea"] }),
    ]);
    expectParts(await get("tea"), { validFrom: year(2005), validTo: year(2008) });
  });

  it("keeps when a fact ended and its tags, and says which fields it leaves out", async ({ store }) => {
    const facts = world(store);
    const { learn, get } = facts;
    await facts.store.entries.set(SCOPE, { key: "oslo", content: "Lives in Oslo.", validFrom: "2022-01-01", ...HOME });
    await learn("a", [
      fact("rome", "Lived in Rome.", { validFrom: "2015", validTo: "2018", tags: ["city", "city", "warm"] }),
      fact("bonn", "Lived in Bonn.", { validTo: "2014" }),
      fact("kiel", "Lived in Kiel.", { validTo: "2021", supersedes: ["oslo"] }),
      fact("graz", "Lived in Graz.", { validTo: "2023", supersedes: ["oslo"] }),
      fact("bern", "Lived in Bern.", { validFrom: "2018", validTo: "2018" }),
      fact("turin", "Lived in Turin.", { validTo: "soon" }),
    ]);
    expect(facts.skipped).toEqual([
      'nothing is closed: when it began is unknown, and "oslo" holds already',
      "it ends before it begins",
      "its validTo is no date",
    ]);
    expectParts(await get("rome"), {
      validFrom: year(2015),
      validTo: year(2018),
      tags: ["city", "warm", "subject:home"],
    });
    expectParts(await get("bonn"), { validFrom: null, validTo: year(2014) });
    expectParts(await get("kiel"), { validFrom: null, validTo: year(2021), supersededBy: ["oslo"] });
    expectParts(await get("oslo"), { validTo: null, supersedes: ["kiel"] });
    // An entry that was shown ends as it is told.
    await learn("b", [fact("oslo", "Lives in Oslo.", { validTo: "2020" })]);
    expect(facts.skipped).toEqual(["it ends before it begins"]);
    await learn("b", [fact("oslo", "Lives in Oslo.", { validTo: "2024" })]);
    expectParts(await get("oslo"), { validFrom: year(2022), validTo: year(2024), content: "Lives in Oslo." });
    const odd = {
      expiresAt: "2030-01-01",
      foo: 1,
      scope: "session",
      tags: "x",
      subject: "y".repeat(61),
      nothing: null,
    };
    await learn("c", [fact("k", "Has a cat.", odd as never)]);
    expect(facts.skipped).toEqual([
      "left out: expiresAt, foo, scope",
      "left out: tags, which are no list of texts",
      "left out: subject, which is no word of at most 60 characters",
    ]);
    expectParts(await get("k"), { content: "Has a cat.", tags: [], expiresAt: null });
  });
});
