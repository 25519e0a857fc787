import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { documentStore } from "../../../packages/runner/src/storages/document/document-store.js";
import { FileSessionStorage } from "../../../packages/runner/src/storages/file-storage.js";
import { redactStore } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { memory } from "../../../packages/store/src/memory.js";
import * as rules from "../../../packages/store/src/redact/methods.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { describeStore } from "../../describe-store.js";
import { objectContext } from "../../documents/host.js";
import { everywhere, occurrences, prepare, redact, SECRET, said, TOLD, textOfRows, WAYS } from "../../redact/canary.js";
import { describeRedact, type OpenRedacted } from "../../redact/describe-redact.js";
import { openDatabase } from "../../store/databases.js";
import { fileTarget } from "../../store/file-target.js";

/** Topics of what may be redacted. */
const OF_TEXTS = [
  "messages",
  "history",
  "branches",
  "fidelity",
  "boundary values",
  "forks",
  "compaction",
  "exports",
  "copies of whole stores",
  "search",
  "tool calls searched",
  "embeddings",
  "metadata of sessions",
  "records",
  "versions",
  "entry values",
  "learned facts",
  "consolidation",
  "undoing",
  "writing together",
  "asked again",
];

const folder = mkdtempSync(join(tmpdir(), "stemma-redact-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;

const filesOf = (path: string) =>
  ["", "-wal", "-journal"]
    .filter((suffix) => existsSync(path + suffix))
    .map((suffix) => readFileSync(path + suffix, "latin1"))
    .join("\n");

const ENGINES: Readonly<Record<string, OpenRedacted>> = {
  "a SQLite file": async (given) => {
    const path = join(folder, `${++files}.db`);
    const store = sqlite(path, { redact: given, search: { tools: true }, synchronous: "normal" });
    return { store, kept: async () => filesOf(path) };
  },
  "a Durable Object": async (given) => {
    const ctx = objectContext();
    const tables = () =>
      ctx.storage.sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray() as { name: string }[];
    const rows = () => tables().map(({ name }) => ctx.storage.sql.exec(`SELECT * FROM "${name}"`).toArray());
    return {
      store: durableObject(ctx, { redact: given, search: { tools: true } }),
      kept: async () => textOfRows(rows()),
    };
  },
  "files of the runner": async (given) => {
    const directory = join(folder, `files-${++files}`);
    const documents = await documentStore(new FileSessionStorage(directory));
    const store = given === undefined ? documents : redactStore(documents, given);
    const kept = async (): Promise<string> => {
      return readdirSync(directory)
        .map((name) => readFileSync(join(directory, name), "utf8"))
        .join("\n");
    };
    return { store, kept };
  },
};

const names = Object.keys(WAYS);

for (const [name, open] of Object.entries(ENGINES))
  describeRedact(name, open, { tools: name !== "files of the runner" });

it("knows what each method of the contract takes, and tries each that takes a text", async () => {
  const store = memory();
  const parts = { session: store.session("s"), sessions: store.sessions, blocks: store.blocks, entries: store.entries };
  const more = { records: store.records, vectors: store.vectors ?? {} };
  // `consolidate` is made of other calls.
  const own = new Set([
    "session",
    "consolidate",
    "forUser",
    "once",
    "observer",
    "observeStatements",
    "withEmbedder",
    "withReranker",
  ]);
  const tables = {
    session: rules.SESSION,
    sessions: rules.SESSIONS,
    blocks: rules.BLOCKS,
    entries: rules.ENTRIES,
    records: rules.RECORDS,
    vectors: rules.VECTORS,
  };
  const functionsOf = (part: object) =>
    Object.entries(part)
      .filter(([, value]) => typeof value === "function")
      .map(([name]) => name);
  for (const [name, part] of Object.entries({ ...parts, ...more })) {
    expect(Object.keys(tables[name as keyof typeof tables])).toEqual(expect.arrayContaining(functionsOf(part)));
  }
  expect(Object.keys(rules.STORE)).toEqual(expect.arrayContaining(functionsOf(store).filter((name) => !own.has(name))));
  const withText = (prefix: string, table: object) =>
    Object.entries(table).flatMap(([name, rule]) => (rule === null ? [] : [prefix + name]));
  const all = Object.entries(tables).flatMap(([name, table]) => withText(`${name}.`, table));
  expect(names).toEqual(expect.arrayContaining([...all, ...withText("", rules.STORE)]));
  await store.close();
});

it("never changes ids, roles, types and names, whatever redact does", async () => {
  const store = memory({ redact: (text) => (text === "[gone]" ? text : "[gone]") });
  await prepare(store);
  await store.session("s").append([everywhere("b")]);
  const message = await store.session("s").message("b");
  expect(message).toMatchObject({ id: "b", role: "assistant" });
  expect(message?.parts.map(({ type, toolCallId, state }) => [type, toolCallId, state])).toEqual(
    everywhere("b").parts.map(({ type, toolCallId, state }: Record<string, unknown>) => [type, toolCallId, state]),
  );
  expect(message?.parts[2]?.input).toEqual({ deep: [{ er: "[gone]" }], id: "[gone]", type: "[gone]" });
  expect((await store.sessions.get("s"))?.name).toBe("[gone]");
  await store.close();
});

it("tells redact where a text stands", async () => {
  const told: unknown[] = [];
  const store = memory({
    redact: (text, { where }) => {
      if (text.includes(SECRET)) told.push(where);
      return text;
    },
  });
  await prepare(store);
  told.length = 0;
  await store.session("s").append([said("a")]);
  await store.entries.set({ sessionId: "s", label: "facts" }, { key: "k", content: TOLD, value: { x: TOLD } });
  const entry = { kind: "entry", sessionId: "s", label: "facts", key: "k" };
  expect(told).toEqual([
    { kind: "message", sessionId: "s", role: "user", partType: "text", path: ["parts", 0, "text"] },
    entry,
    { ...entry, path: ["value", "x"] },
  ]);
  await store.close();
});

it("redacts on the stores that withEmbedder and forUser give, and what an embedder is given", async () => {
  const texts: string[] = [];
  const embed = async (given: string[]) => {
    texts.push(...given);
    return given.map(() => [1, 0]);
  };
  const path = join(folder, "embedded.db");
  const store = sqlite(path, { redact }).withEmbedder({ id: "e", dimensions: 2, embed });
  const own = store.forUser("ada");
  await own.session("s").append([everywhere("a")]);
  await store.session("t").append([said("b")]);
  await store.embeddings.flush();
  await own.search(TOLD, { limit: 3 });
  await own.session("s").search(TOLD, { limit: 3 });
  expect(texts.length).toBeGreaterThan(2);
  expect(occurrences(texts.join("\n"))).toBe(0);
  expect(occurrences(filesOf(path))).toBe(0);
  await store.close();
});

it("redacts a copy of a store, and of its records, blocks and entries", async () => {
  const { copyStore } = await import("../../../packages/stemma/src/copy.js");
  const from = memory();
  await prepare(from);
  for (const way of Object.values(WAYS)) await way(from);
  const path = join(folder, "copied.db");
  const to = sqlite(path, { redact });
  await copyStore(from, to);
  expect(await to.session("s").count()).toBe(await from.session("s").count());
  expect(occurrences(filesOf(path))).toBe(0);
  await copyStore(from, to);
  await from.close();
  await to.close();
});

it("refuses a redact that is no function, and works for a store of a class", async () => {
  expect(() => memory({ redact: "x" as never })).toThrowError(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  expect(() => redactStore({} as never, redact)).toThrowError(expect.objectContaining({ code: "STORE_UNSUPPORTED" }));
  const inner = memory();
  const store = redactStore(redactStore(inner, redact), (text) => text.replaceAll("keep", "[kept]"));
  await prepare(store);
  await store.session("s").append([said("a")]);
  expect((await inner.session("s").message("a"))?.parts[0]?.text).toBe("my key is [key], [kept] it");
  await store.close();
});

// A redact that changes nothing changes nothing else either.
const migrated = join(folder, "migrated.db");
describeStore(
  "sqlite",
  fileTarget("SQLite, with a redact that changes nothing", folder, openDatabase, (path, before, search) => {
    if (existsSync(migrated) && !existsSync(path)) copyFileSync(migrated, path);
    if (before !== undefined) return sqlite(path, { synchronous: "normal" });
    return sqlite(path, { synchronous: "normal", search, redact: (text) => text });
  }),
  { differsIn: OF_TEXTS },
);
