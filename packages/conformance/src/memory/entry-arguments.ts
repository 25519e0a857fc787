import { AgentSearchProvider, type RememberOptions } from "@stemma/session";
import type { EntryScope, EntryStore, StoredEntry } from "@stemma/store";
import { ConformanceError, expect, expectError, failureOf } from "../assert.js";
import { defineTopic } from "../topic.js";

const FACTS: EntryScope = { sessionId: "", label: "facts", scope: { key: "shared" } };
const TEA: StoredEntry = { key: "tea", content: "Likes tea." };
const HALF = "\ud800";
const LONG = "x".repeat(2000);

/** Values that are none of an argument, each with what the error must name. */
type Wrong = readonly (readonly [value: unknown, names: string])[];

const NO_OBJECT: Wrong = [null, 5, "facts", [], new Date(0), true].map((value) => [value, "object"]);

const SCOPE: Wrong = [
  [undefined, "scope"],
  ...NO_OBJECT,
  [{}, "sessionId"],
  [{ ...FACTS, sessionId: null }, "sessionId"],
  [{ ...FACTS, sessionId: HALF }, "sessionId"],
  [{ ...FACTS, scope: "project" }, "scope"],
  [{ ...FACTS, scope: { key: 5 } }, "scope"],
  [{ ...FACTS, scope: { key: "" } }, "scope"],
  [{ ...FACTS, scope: null }, "scope"],
  [{ ...FACTS, scop: "user" }, "scop"],
];
const LABELLED: Wrong = [
  ...SCOPE,
  [{ sessionId: "" }, "label"],
  [{ ...FACTS, label: new Date(0) }, "label"],
  [{ ...FACTS, label: `${HALF}x` }, "label"],
];
const KEY: Wrong = [undefined, null, 5, {}, [], new Date(0), HALF, "a\0"].map((value) => [value, "key"]);
const FIELDS: Wrong = [
  ...(["validFrom", "validTo", "expiresAt"] as const).flatMap((name): Wrong => {
    const times = [new Date(0), Number.NaN, 0, true, {}, [], "", "soon", "2025-02-30", HALF];
    return times.map((value) => [{ [name]: value }, name]);
  }),
  [{ valid_from: "2025-01-01" }, "valid_from"],
  [{ tag: ["x"] }, "tag"],
  [{ tags: "x" }, "tags"],
  [{ tags: [HALF] }, "tags"],
  [{ supersedes: {} }, "supersedes"],
  [{ supersedes: null }, "supersedes"],
  [{ origin: "me" }, "origin"],
  [{ origin: 5 }, "origin"],
];
const TEXTS: Wrong = [
  [undefined, "entry"],
  ...NO_OBJECT,
  [{}, "key"],
  [{ content: "x" }, "key"],
  [{ key: "tea" }, "content"],
  ...KEY.map(([key, names]) => [{ ...TEA, key }, names] as const),
  [{ ...TEA, key: "" }, "key"],
  [{ ...TEA, key: LONG }, "key"],
  ...[null, 5, {}, new Date(0), HALF].map((content) => [{ ...TEA, content }, "content"] as const),
];
const ENTRY: Wrong = [
  ...TEXTS,
  ...FIELDS.map(([fields, names]) => [{ ...TEA, ...(fields as object) }, names] as const),
  [{ ...TEA, value: 10n }, "value"],
];
const NOTED: Wrong = [
  ...NO_OBJECT,
  [{ keepVersion: 1 }, "keepVersion"],
  ...[-1, 1.5, Number.NaN, "2", null].map((keepVersions) => [{ keepVersions }, "keepVersions"] as const),
  [{ origin: "user" }, "origin"],
  [{ origin: { author: "me" } }, "author"],
  [{ origin: { author: "model", message: "m" } }, "message"],
];
const WRITE: Wrong = [
  ...NOTED,
  [{ expectedContent: 5 }, "expectedContent"],
  [{ createdAt: new Date(0) }, "createdAt"],
  [{ updatedAt: "now" }, "updatedAt"],
  [{ holds: "yes" }, "holds"],
  [{ endsNow: 1 }, "endsNow"],
  [{ ends: "now" }, "ends"],
];
const VIEW: Wrong = [
  ...NO_OBJECT,
  [{ includeEnd: true }, "includeEnd"],
  [{ includeEnded: "yes" }, "includeEnded"],
  [{ includeExpired: 1 }, "includeExpired"],
  ...[new Date(0), Number.NaN, null, "soon"].flatMap(
    (time): Wrong => [
      [{ asOf: time }, "asOf"],
      [{ knownAt: time }, "knownAt"],
    ],
  ),
  [{ filter: { tag: ["x"] } }, "tag"],
  [{ filter: null }, "filter"],
];
const PAGE: Wrong = [
  ...VIEW,
  ...[0, -1, 1.5, Number.NaN, 1e300, "10", null].map((limit) => [{ limit }, "limit"] as const),
  [{ prefix: 5 }, "prefix"],
  [{ prefix: HALF }, "prefix"],
];
const LIST: Wrong = [...PAGE, [{ after: 5 }, "after"], [{ after: "a\0" }, "after"]];
const FOUND: Wrong = [
  ...[Number.NaN, 1e300, -1e15, "2025-01-01", new Date(0)].flatMap(
    (time): Wrong => [
      [{ after: time }, "after"],
      [{ before: time }, "before"],
    ],
  ),
  [{ rerank: "no" }, "rerank"],
  [{ threshold: "1" }, "threshold"],
  [{ signal: {} }, "signal"],
];
const limited = (wrong: Wrong): Wrong =>
  wrong.map(([value, names]) => [isPlain(value) ? { limit: 5, ...(value as object) } : value, names]);

const isPlain = (value: unknown) => Object.prototype.toString.call(value) === "[object Object]";

/** Right arguments of each method, and for each of them what is wrong in its place. */
const CALLS: Readonly<Record<keyof EntryStore, readonly (readonly [right: unknown, wrong: Wrong])[]>> = {
  labels: [[{ sessionId: "" }, SCOPE]],
  removed: [[{ sessionId: "" }, SCOPE]],
  count: [
    [FACTS, LABELLED],
    [{}, VIEW],
  ],
  list: [
    [FACTS, LABELLED],
    [{}, LIST],
  ],
  get: [
    [FACTS, LABELLED],
    ["tea", KEY],
  ],
  set: [
    [FACTS, LABELLED],
    [TEA, ENTRY],
    [{}, WRITE],
  ],
  append: [
    [FACTS, LABELLED],
    [TEA, TEXTS],
    [
      { maxTokens: 100 },
      [
        [undefined, "options"],
        ...NOTED.map(
          ([value, names]) => [isPlain(value) ? { maxTokens: 100, ...(value as object) } : value, names] as const,
        ),
        [{}, "maxTokens"],
        [{ maxTokens: "100" }, "maxTokens"],
      ],
    ],
  ],
  delete: [
    [FACTS, LABELLED],
    ["tea", KEY],
    [{}, WRITE.filter(([value]) => !["createdAt", "updatedAt", "ends"].some((name) => name in Object(value)))],
  ],
  versions: [
    [FACTS, LABELLED],
    ["tea", KEY],
  ],
  importVersions: [
    [FACTS, LABELLED],
    ["tea", KEY],
    [
      [],
      [undefined, null, {}, [null], [5], [{}], [{ version: 1, content: new Date(0) }]].map((value) => [
        value,
        "versions",
      ]),
    ],
  ],
  search: [
    [FACTS, LABELLED],
    ["tea", [undefined, null, 5, {}, []].map((value) => [value, "query"])],
    [{ limit: 5 }, [[undefined, "options"], [{}, "limit"], ...limited([...PAGE, ...FOUND])]],
  ],
};

/** Fails unless a call is refused with an error that names what is wrong. */
async function expectRefused(call: () => unknown, names: string, about: string): Promise<void> {
  const error = await failureOf(call);
  const { code = String(error), message = "" } = (error ?? {}) as { code?: string; message?: string };
  const isNamed = message.includes(names) && message.length < 1000;
  if ((code === "INVALID_ARGUMENT" || code === "INVALID_TEXT") && isNamed) return;
  throw new ConformanceError(`${about} fails with ${code}: ${message}`, message, names);
}

const shown = (value: unknown) => {
  const text = typeof value === "bigint" ? "10n" : value instanceof Date ? "a Date" : JSON.stringify(value, bigs);
  return String(text).slice(0, 80);
};
const bigs = (_: string, value: unknown) => (typeof value === "bigint" ? "10n" : value);

/** The refusals of what is no entry, scope, key, time or option: each names it, and nothing is written. */
export const entryArguments = defineTopic("arguments of entries", (it) => {
  for (const [method, places] of Object.entries(CALLS)) {
    // Without transactions, a write that is refused late may leave a part.
    const needs = method === "search" ? (["search"] as const) : method === "set" ? (["transactions"] as const) : [];
    it(`are checked by ${method}()`, needs, async ({ store }) => {
      await store.entries.set(FACTS, TEA);
      const call = store.entries[method as keyof EntryStore] as (...values: unknown[]) => unknown;
      const right = places.map(([value]) => value);
      for (const [place, [, wrong]] of places.entries()) {
        for (const [value, names] of wrong) {
          // What another program stored is read, whatever its names hold.
          if (method === "get" && /\\ud800|\\u0000/.test(JSON.stringify(value) ?? "")) continue;
          const about = `${method}() with ${shown(value)} as its argument ${place + 1}`;
          await expectRefused(() => call(...right.with(place, value)), names, about);
        }
      }
      expect((await store.entries.list(FACTS)).map(({ key, content }) => `${key} ${content}`)).toEqual([
        "tea Likes tea.",
      ]);
      expect((await store.entries.versions(FACTS, "tea")).length).toBe(1);
      await call(...right);
    });
  }

  it("take an entry that was read, with another content", async ({ store }) => {
    await store.entries.set(FACTS, { ...TEA, tags: ["drink"], validFrom: "2025-01-01" });
    const [read] = await store.entries.list(FACTS);
    if (read === undefined) throw new ConformanceError("no entry", read, TEA);
    await store.entries.set(FACTS, { ...read, content: "Likes green tea." });
    const [changed] = await store.entries.list(FACTS);
    expect([changed?.content, changed?.tags, changed?.validFrom]).toEqual([
      "Likes green tea.",
      ["drink"],
      "2025-01-01T00:00:00.000Z",
    ]);
  });

  it("take what ends an entry only as it was read", async ({ store }) => {
    await store.entries.set(FACTS, { ...TEA, validFrom: "2025-01-01" });
    await store.entries.set(FACTS, { key: "coffee", content: "Likes coffee.", supersedes: ["tea"] });
    await store.entries.set(FACTS, { key: "milk", content: "Likes milk.", validTo: "2025-01-01" });
    const all = await store.entries.list(FACTS, { includeEnded: true });
    for (const entry of all) await store.entries.set(FACTS, entry);
    const again = await store.entries.list(FACTS, { includeEnded: true });
    expect(again.map((entry) => ({ ...entry, updatedAt: "" }))).toEqual(
      all.map((entry) => ({ ...entry, updatedAt: "" })),
    );
    const wrong = [{ supersededBy: ["coffee"] }, { invalidatedAt: "2019-01-01T00:00:00.000Z" }, { ends: "now" }];
    for (const fields of [...wrong, { supersededBy: null }, { ends: [{ by: null, validTo: "2019-01-01" }] }]) {
      for (const key of ["milk", "new"]) {
        const write = () => store.entries.set(FACTS, { key, content: "Likes milk.", ...fields } as never);
        await expectRefused(write, "set(scope, entry, { supersededBy: keys })", `set() with ${shown(fields)}`);
      }
    }
    // What was read may stand for another one that nothing ends.
    const [coffee] = all;
    await store.entries.set(FACTS, { ...coffee, key: "new" } as StoredEntry);
    expect((await store.entries.get(FACTS, "new"))?.content).toBe("Likes coffee.");
  });

  it("are checked where they are written together", ["transactions"], async ({ store }) => {
    for (const [entry, names] of ENTRY.filter(([value]) => isPlain(value))) {
      const write = { entries: FACTS, ...(entry as object) } as never;
      // Without a content it is another kind of write, or none.
      if ("content" in (entry as object) && (entry as StoredEntry).content !== null)
        await expectRefused(() => store.writeTogether([write]), names, `writeTogether() with ${shown(entry)}`);
    }
    for (const [options, names] of WRITE)
      await expectRefused(
        () => store.writeTogether([{ entries: FACTS, ...TEA, options: options as never }]),
        names,
        `writeTogether() with ${shown(options)}`,
      );
    expect(await store.entries.list(FACTS)).toEqual([]);
  });

  it("are checked by a provider", ["search"], async ({ store }) => {
    const provider = new AgentSearchProvider(store, { label: "facts", scope: { key: "shared" } });
    const set = (key: unknown, content: unknown, description?: unknown, options?: unknown) =>
      provider.set(key as string, content as string, description as string, options as RememberOptions);
    for (const [key] of KEY) await expectRefused(() => set(key, "x"), "key", `set(${shown(key)})`);
    for (const content of [undefined, null, 5, {}, HALF])
      await expectRefused(() => set("tea", content), "content", `set() of ${shown(content)}`);
    await expectRefused(() => set("tea", "x", { fact: {} }), "description", "set() with options too early");
    for (const [options, names] of NOTED) {
      await expectRefused(() => set("tea", "x", undefined, options), names, `set() with ${shown(options)}`);
      await expectRefused(() => provider.append("tea", "x", options as never), names, `append() ${shown(options)}`);
      await expectRefused(() => provider.delete("tea", options as never), names, `delete() with ${shown(options)}`);
    }
    for (const [fact, names] of [...FIELDS, ...NO_OBJECT])
      await expectRefused(() => set("tea", "x", undefined, { fact }), names, `set() of the fact ${shown(fact)}`);
    for (const options of [{ scopes: "user" }, { scope: 5 }, { key: "x" }])
      await expectRefused(
        () => provider.versions("tea", options as never),
        Object.keys(options)[0] ?? "",
        "versions()",
      );
    for (const [options, names] of [...PAGE, [{ after: 5 }, "after"] as const])
      await expectRefused(() => provider.list(options as never), names, `list(${shown(options)})`);
    for (const [options, names] of [...PAGE, ...FOUND])
      await expectRefused(() => provider.find("tea", options as never), names, `find(${shown(options)})`);
    for (const times of [{ afer: 5 }, { after: "2025-01-01" }, { before: Number.NaN }, { limit: 5 }])
      await expectRefused(() => provider.search("tea", times as never), Object.keys(times)[0] ?? "", "search()");
    await expectError(provider.set("tea", "x", undefined, { scope: "bob" }), "INVALID_ARGUMENT");
    expect(await provider.list()).toEqual([]);
  });
});
