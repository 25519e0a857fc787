import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { StemmaError } from "../../../packages/model/src/errors.js";
import { instrument } from "../../../packages/stemma/src/opentelemetry.js";
import { guard } from "../../../packages/stemma/src/server.js";
import {
  AgentSearchProvider,
  createLearnFunction,
  type EntryScopeOptions,
  redactStore,
  SessionManager,
  type Store,
} from "../../../packages/stemma/src/session.js";
import { memory } from "../../../packages/store/src/memory.js";

const HALF = "\ud800";
const LONG = "x".repeat(5_000_000);

/** What is no text, and what is none that can be kept. */
const NO_TEXT = [null, 5, Number.NaN, {}, [], new Date(0), true, Symbol("x"), 10n, HALF, "a\0"];
const NO_FLAG = [null, 0, "yes", {}, Number.NaN];
const NO_COUNT = [null, 0, -1, 1.5, Number.NaN, 1e300, "10", {}, new Date(0), 10n, Symbol("x")];
const NO_NUMBER = [null, "1", Number.NaN, {}, 10n];
const NO_OPTIONS = [null, 5, "x", [], new Date(0), Symbol("x"), () => 1];
const NO_SCOPE = [null, "project", {}, { key: 5 }, { key: "" }, { key: HALF }, [], 5];

type Wrong = readonly (readonly [value: unknown, names: string])[];
const each = (values: readonly unknown[], names: string): Wrong => values.map((value) => [value, names]);
const field = (name: string, values: readonly unknown[], more: object = {}): Wrong =>
  values.map((value) => [{ ...more, [name]: value }, name]);

const RECALL: Wrong = [
  ...each(NO_OPTIONS, "options"),
  [{ max: 5 }, "max"],
  ...[...NO_TEXT, "", LONG].map((userId) => [{ userId }, "A user id"] as const),
  ...field("keys", ["memory", {}, null]),
  ...[5, "", HALF, LONG].map((key) => [{ keys: [key] }, "key of a scope"] as const),
  ...field("maxTokens", [0, ...NO_NUMBER]),
  ...field("maxMs", NO_COUNT),
  ...field("rerank", NO_FLAG),
  ...field("threshold", NO_NUMBER),
];
const CONSOLIDATE: Wrong = [
  ...each(NO_OPTIONS, "options"),
  [{ dryrun: true }, "dryrun"],
  ...field("scope", NO_SCOPE),
  ...field("sessionId", NO_TEXT),
  ...field("label", NO_TEXT),
  ...field("after", [null, "2025-01-01", Number.NaN, 1e300, new Date(Number.NaN), Symbol("x"), 10n]),
  ...field("extract", [null, "x", {}]),
  ...field("timeout", NO_COUNT),
  ...field("maxCost", [0, ...NO_NUMBER]),
  ...field("limit", [1, ...NO_COUNT]),
  ...field("dryRun", NO_FLAG),
  ...field("apply", [null, {}, "x"]),
  ...field("undo", [null, {}, "x"]),
  ...field("keepVersions", [-1, 1.5, "1", null]),
];
const LEARN_DUE: Wrong = [
  ...each(NO_OPTIONS, "options"),
  [{ max: 1 }, "max"],
  ...field("limit", NO_COUNT),
  ...field("deadline", [null, "now", Number.NaN, new Date(Number.NaN), 10n, Symbol("x")]),
  ...field("maxCost", [0, ...NO_NUMBER]),
  ...field("idleFor", [null, -1, "1", Number.NaN]),
  ...field("dryRun", NO_FLAG),
];
const ON_LEARNING: Wrong = [
  ...each(NO_OPTIONS, "options"),
  [{ idle: 1 }, "idle"],
  ...field("idleAfter", [0, ...NO_NUMBER]),
  ...field("timeout", [0, ...NO_NUMBER]),
  ...field("blocks", [null, "memory", [5], {}]),
];
const LEARN: Wrong = [
  [undefined, "options"],
  ...each(NO_OPTIONS, "options"),
  [{}, "extract"],
  ...field("extract", [null, "x", {}]),
  ...field("instructions", [null, 5, {}], { extract: () => [] }),
  [{ extract: () => [], instruction: "x" }, "instruction"],
];
const SCOPES: Wrong = [
  [null, "scopes"],
  [{}, "scopes"],
  [[], "scopes"],
  [[null], "scope"],
  [[new Date(0)], "scope"],
  ...NO_SCOPE.map((scope) => [[{ scope }], "scope"] as const),
  [[{ scope: "user", writable: true }], "writable"],
  ...NO_FLAG.map((write) => [[{ scope: "user", write }], "write"] as const),
  ...[null, 5, {}, new Date(0)].map((name) => [[{ scope: "user", name }], "name"] as const),
  ...["", " ", HALF, "a\nb", "ё"].map((name) => [[{ scope: "user", name }], "name"] as const),
];

/** Fails unless each call is refused with a short error that names what is wrong. */
async function expectAllRefused(call: (value: never) => unknown, wrong: Wrong): Promise<void> {
  const faults: string[] = [];
  for (const [value, names] of wrong) {
    const error = await (async () => call(value as never))().then(
      () => new Error("it succeeded"),
      (reason: unknown) => reason as Error,
    );
    const isOurs = StemmaError.isInstance(error, "INVALID_ARGUMENT") || StemmaError.isInstance(error, "INVALID_TEXT");
    if (isOurs && error.message.includes(names) && error.message.length < 1000) continue;
    faults.push(`${inspect(value).slice(0, 60)}: ${error.name} ${error.message.slice(0, 200)}`);
  }
  expect(faults).toEqual([]);
}

const managed = (store: Store = memory()) => SessionManager.create(store).forUser("ada");

describe("an argument about the memory is refused by its name", () => {
  it("in recall", async () => {
    const manager = managed();
    const session = manager.getSession("s");
    const queries = each([undefined, null, 5, {}, [], new Date(0)], "query");
    await expectAllRefused((query) => manager.recall(query), queries);
    await expectAllRefused((query) => session.recall(query), queries);
    await expectAllRefused((options) => manager.recall("tea", options), RECALL);
    await expectAllRefused((options) => session.recall("tea", options), RECALL);
    await expectAllRefused((recall) => session.prepareTurn({ recall }), RECALL);
    for (const query of ["", " ", HALF, "\0", LONG]) expect((await manager.recall(query)).results).toEqual([]);
  });

  it("in learning", async () => {
    const manager = managed().onLearning(async () => []);
    await expectAllRefused((options) => manager.learnDue(options), LEARN_DUE);
    await expectAllRefused((options) => managed().onLearning(async () => [], options), ON_LEARNING);
    const functions = each([undefined, null, {}, "x"], "onLearning");
    await expectAllRefused((learn) => managed().onLearning(learn), functions);
    await expectAllRefused((options) => createLearnFunction(options), LEARN);
  });

  it("in consolidation", async () => {
    const store = memory().forUser("ada");
    await expectAllRefused((options) => store.consolidate(options), CONSOLIDATE);
    for (const junk of [null, 5, {}, { label: HALF, key: "k", content: "c", originals: [] }]) {
      for (const name of ["apply", "undo"]) {
        const { merges, skipped } = await store.consolidate({ [name]: [junk] });
        expect([merges.length, skipped.length]).toEqual([0, 1]);
      }
    }
  });

  it("in scopes", async () => {
    const make = (options: unknown) => new AgentSearchProvider(memory(), options as object);
    await expectAllRefused(make, [
      ...each(
        NO_OPTIONS.filter((value) => value !== "x"),
        "AgentSearchProvider",
      ),
    ]);
    await expectAllRefused((scopes: EntryScopeOptions[]) => make({ scopes }), SCOPES);
    await expectAllRefused((scope) => make({ scope }), each(NO_SCOPE, "scope"));
    await expectAllRefused((label) => make({ label }), each([null, 5, {}, "", HALF], "label"));
  });

  it("whatever stands around the store", async () => {
    const plain = memory();
    const stores: Record<string, Store> = {
      plain,
      "of a user": plain.forUser("ada"),
      redacted: redactStore(plain, (text) => text),
      reranked: plain.withReranker(async () => []),
      instrumented: instrument(plain),
      guarded: guard(plain, { id: "k", access: "memory", userId: "ada" } as never),
      administrated: guard(plain, { id: "k", access: "admin" } as never),
    };
    const scope = { sessionId: "", label: "facts", scope: { key: "k" } } as const;
    for (const [name, { entries }] of Object.entries(stores)) {
      const refused = (call: () => Promise<unknown>, names: string) =>
        expectAllRefused(call, [[undefined, names]]).catch((error) => Promise.reject(new Error(`${name}: ${error}`)));
      await refused(() => entries.get(undefined as never, "k"), "scope");
      await refused(() => entries.set({ ...scope, scope: null as never }, { key: "k", content: "c" }), "scope");
      await refused(() => entries.set(scope, undefined as never), "entry");
      await refused(() => entries.set(scope, { content: "c" } as never), "key");
      await refused(() => entries.delete(undefined as never, "k"), "scope");
      await refused(() => entries.search(scope, "q", undefined as never), "options");
      await refused(() => entries.search(scope, undefined as never, { limit: 1 }), "query");
      await refused(() => entries.importVersions(scope, "k", undefined as never), "versions");
      await refused(() => entries.labels(undefined as never), "scope");
    }
  });
});

describe("a scope that is none", () => {
  it.each([undefined, null, 5, "", {}, { sessionId: 5 }, { sessionId: "", scope: "team" }, { scope: "user" }])(
    "is refused by what removes: %j",
    async (wrong) => {
      const store = memory();
      const kept = { sessionId: "", scope: { key: "other" }, kind: "block", label: "memory" } as const;
      await store.blocks.set(kept, "text");
      for (const own of [store, store.forUser("ada")]) {
        const refused = [
          own.deleteMemory(wrong as never),
          own.pruneExpired(wrong as never, { limit: 1 }),
          own.pruneVersions(wrong as never, { keep: 1, limit: 1 }),
        ];
        for (const each of refused) await expect(each).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      }
      expect(await store.blocks.owners("key")).toEqual(["other"]);
    },
  );
});
