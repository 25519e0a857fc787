import { describe, expect, it } from "vitest";
import { bootstrap, MEASURES, type Measured, measure, type Places } from "../../src/measure.js";
import type { EvalQuestion } from "../../src/set.js";

/** Two sessions, `s` and `t`, with messages 0 to 99 each. */
const places: Places = new Map(
  ["s", "t"].map((session) => [
    session,
    new Map(Array.from({ length: 100 }, (_, place) => [`${session}${place}`, place])),
  ]),
);
const hit = (id: string) => ({ sessionId: id.slice(0, 1), id });
const asks = (evidence: string[], sessions: string[]): EvalQuestion => ({
  text: "?",
  category: "k",
  evidence,
  sessions,
});
const measured = (question: EvalQuestion, hits: string[], quoted: string[] = []) =>
  measure(question, { hits: hits.map(hit), quoted: quoted.map(hit), inChat: quoted.map(hit) }, places);

describe("measure", () => {
  it("measures hits as one does by hand", () => {
    const hits = ["s50", "s1", "t70", "t60", "s90", "s91", "t3", "s92"];
    const got = measured(asks(["s1", "t3", "t99"], ["s", "t"]), hits, ["s50", "s1"]);
    const best = 1 + 1 / Math.log2(3) + 1 / 2;
    expect(got).toEqual({
      "R@5": 1 / 3,
      "R@10": 2 / 3,
      "R@50": 2 / 3,
      "nDCG@10": (1 / Math.log2(3) + 1 / 3) / best,
      "any@5": 1,
      "any@10": 1,
      "recall_all@5": 0,
      MRR: 1 / 2,
      "near@10": 1,
      quoted: 1 / 3,
      "quoted in chat": 1 / 3,
      "session any@5": 1,
      "session any@10": 1,
      "session recall_all@5": 1,
    });
  });

  it("gives 1 for what is all found first, and 0 for nothing", () => {
    expect(Object.values(measured(asks(["s1"], ["s"]), ["s1"], ["s1"]))).toEqual(MEASURES.map(() => 1));
    expect(Object.values(measured(asks(["s1"], ["s"]), []))).toEqual(MEASURES.map(() => 0));
  });

  it("counts the message beside the evidence as near, in its own session only", () => {
    expect(measured(asks(["s5"], ["s"]), ["s6"])).toMatchObject({ "near@10": 1, "any@10": 0 });
    expect(measured(asks(["s5"], ["s"]), ["s7", "t5", "t6"])).toMatchObject({ "near@10": 0 });
  });

  it("counts sessions in the order of their first hits", () => {
    const many: Places = new Map(Array.from("abcdefgh", (name) => [name, new Map([[`${name}0`, 0]])]));
    const hits = Array.from("abcdefgh", (name) => ({ sessionId: name, id: `${name}0` }));
    const got = measure(asks([], ["a", "f"]), { hits, quoted: [] }, many);
    expect(got).toMatchObject({
      "session any@5": 1,
      "session any@10": 1,
      "session recall_all@5": 0,
      "R@10": null,
      quoted: null,
    });
  });

  it("says nothing by session where there is one", () => {
    const one: Places = new Map([["s", new Map([["s0", 0]])]]);
    const got = measure(asks(["s0"], ["s"]), { hits: [hit("s0")], quoted: [] }, one);
    expect(got).toMatchObject({ "R@5": 1, "session any@5": null, "session recall_all@5": null });
  });

  it("does not take a message with the same id in another session for the evidence", () => {
    const twice: Places = new Map(["s", "t"].map((session) => [session, new Map([["1", 0]])]));
    const found = { hits: [{ sessionId: "t", id: "1" }], quoted: [] };
    expect(measure(asks(["1"], ["s"]), found, twice)).toMatchObject({ "any@10": 0 });
  });
});

const NONE = Object.fromEntries(MEASURES.map((name) => [name, null])) as Measured;
const pair = (conversation: string, before: number, after: number) => ({
  conversation,
  before: { ...NONE, MRR: before },
  after: { ...NONE, MRR: after },
});

describe("bootstrap", () => {
  it("is the same each time", () => {
    const pairs = Array.from({ length: 40 }, (_, index) => pair(`c${index % 8}`, 0.5, ((index * 7) % 11) / 10));
    expect(bootstrap(pairs)).toEqual(bootstrap(pairs));
    expect(bootstrap(pairs)["R@5"]).toBeNull();
  });

  it("has no width where all conversations differ alike", () => {
    const { MRR } = bootstrap([pair("a", 0.5, 0.25), pair("b", 0.5, 0.25), pair("c", 0.75, 0.5)]);
    expect(MRR).toEqual({ mean: -0.25, low: -0.25, high: -0.25 });
  });

  it("draws conversations, not questions", () => {
    // 100 questions of one conversation that all got better are one draw.
    const pairs = [...Array.from({ length: 100 }, () => pair("a", 0, 1)), pair("b", 1, 0), pair("c", 1, 0)];
    const { MRR } = bootstrap(pairs);
    expect(MRR?.mean).toBeCloseTo(98 / 102);
    expect(MRR?.low).toBe(-1);
    expect(MRR?.high).toBe(1);
  });

  it("draws questions where there is one conversation", () => {
    const pairs = Array.from({ length: 50 }, (_, index) => pair("a", 0, index % 2));
    const { MRR } = bootstrap(pairs);
    expect(MRR?.low).toBeGreaterThan(0.3);
    expect(MRR?.low).toBeLessThan(0.45);
    expect(MRR?.high).toBeGreaterThan(0.55);
  });
});
