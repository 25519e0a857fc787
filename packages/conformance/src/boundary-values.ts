import { copyStore, exportStore, jsonl } from "@stemma/formats/copy";
import type { Store } from "@stemma/store";
import { expect, expectError } from "./assert.js";
import { collect, message } from "./samples.js";
import { bytesOf } from "./sessions/whole-copies.js";
import { defineTopic } from "./topic.js";

/** Texts that some code may take for none, for another value, or for a piece of a language. */
const TEXTS = [
  ...["", " ", "\t", "\n", "\r\n", "0", "-0", "1e21", "null", "undefined", "false", "[]", "{}", '""', "__proto__"],
  ...["constructor", "toString", "prompt", "compaction_", "a/b", "a\\b", "..", "%", "_", "*", "$1", "'", '"', ";--"],
  ...["🙂", "\u{10ffff}", "\ufffd", "\uffff", "é", "e\u0301", "Ａ", "ß", "שלום", "\u200b", "\u2028", "\u0001"],
];
const UNSTORABLE = ["a\0b", "\ud800", "a\udc00"];
const TIMES = ["0001-01-01T00:00:00.000Z", "0099-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"];
const LATE = "9999-12-31T23:59:59.999Z";

/** Values at the ends of what a type can hold. */
export const boundaryValues = defineTopic("boundary values", (it) => {
  it("gives each text of a registry entry back", async ({ store }) => {
    for (const [index, text] of TEXTS.entries()) {
      const id = `session ${index}`;
      const given = { name: text, model: text, source: text, parentSessionId: text, metadata: { [`.${text}`]: text } };
      await store.sessions.create({ id, ...given });
      await store.sessions.restore(id, { endReason: text });
      await store.sessions.addUsage(id, 1, 0, 0, text);
      const info = await store.sessions.get(id);
      expect([info?.name, info?.source, info?.parent_session_id, info?.end_reason]).toEqual([text, text, text, text]);
      expect([info?.model, info?.metadata]).toEqual([text, given.metadata]);
      expect((await store.sessions.usageRows(id)).map(({ model }) => model)).toEqual([text]);
    }
  });

  it("gives each text of a message and of a summary back", async ({ store }) => {
    const session = store.session("s");
    const given = TEXTS.map((text, index) => ({
      ...message(`m${index}`, text, text === "" ? "user" : text),
      metadata: { name: text, [`.${text}`]: [text] },
      createdAt: text,
    }));
    await session.append(given);
    expect((await session.path()).messages).toEqual(given);
    for (const [index, text] of TEXTS.entries()) {
      const range = { fromMessageId: `m${index}`, toMessageId: `m${index}` };
      await session.addCompaction({ id: `k${index}`, summary: text, ...range });
    }
    expect((await session.compactions()).map(({ summary }) => summary)).toEqual(TEXTS);
  });

  it("gives each text of what is kept beside the messages back, and tells them apart", async ({ store }) => {
    const names = TEXTS.filter((text) => text !== "");
    const scope = { sessionId: "s", label: "l" };
    for (const text of names) {
      await store.blocks.set({ sessionId: "s", kind: "block", label: text }, text);
      await store.entries.set(scope, { key: text, content: text, value: { [`.${text}`]: text } });
      await store.records.set(scope, text, new TextEncoder().encode(text));
    }
    for (const text of names) {
      expect((await store.blocks.get({ sessionId: "s", kind: "block", label: text }))?.content).toBe(text);
      const entry = await store.entries.get(scope, text);
      expect([entry?.key, entry?.content, entry?.value]).toEqual([text, text, { [`.${text}`]: text }]);
      expect((await store.records.get(scope, text))?.value).toEqual(new TextEncoder().encode(text));
    }
    expect(await store.entries.count(scope)).toBe(names.length);
    const listed = await store.records.list(scope, { limit: 100 });
    expect(listed.map(({ key }) => key)).toEqual([...names].sort(byBytes));
  });

  it("gives times and numbers at the ends of their ranges back", async ({ store }) => {
    for (const [index, createdAt] of TIMES.entries()) {
      const id = `session ${index}`;
      await store.sessions.create({ id, name: id });
      await store.sessions.restore(id, { createdAt, updatedAt: LATE });
      const info = await store.sessions.get(id);
      expect([info?.created_at, info?.updated_at]).toEqual([createdAt, LATE]);
      await store.session(id).importTree({
        messages: [
          { message: { ...message("m"), createdAt: new Date(createdAt) }, parentId: null, storedAt: createdAt },
        ],
      });
      const [stored] = await collect(store.session(id).messages());
      expect(stored?.storedAt).toBe(createdAt);
      expect(stored?.message.createdAt).toEqual(new Date(createdAt));
      await store.sessions.addUsage(id, Number.MAX_SAFE_INTEGER, 0, 0.1, "m");
      const [usage] = await store.sessions.usageRows(id);
      expect([usage?.inputTokens, usage?.cost]).toEqual([Number.MAX_SAFE_INTEGER, 0.1]);
    }
    const scope = { sessionId: "s", label: "l" };
    const options = { expiresAt: Number.MAX_SAFE_INTEGER, version: Number.MAX_SAFE_INTEGER };
    await store.records.set(scope, "k", new Uint8Array(), options);
    expect(await store.records.get(scope, "k")).toEqual({ key: "k", value: new Uint8Array(), ...options });
  });

  it("refuses a time outside of the years 1 to 9999, and reads by one", async ({ store }) => {
    const scope = { sessionId: "s", label: "l" };
    const entry = { key: "k", content: "tea" };
    await store.session("s").append([message("m")]);
    await store.entries.set(scope, entry);
    for (const time of ["0000-06-01T00:00:00.000Z", "-000001-06-01T00:00:00.000Z", "+010000-01-01T00:00:00.000Z"]) {
      const writes = [
        () => store.sessions.restore("s", { updatedAt: time }),
        () => store.session("t").importTree({ messages: [{ message: message("m"), parentId: null, storedAt: time }] }),
        () => store.blocks.set({ ...scope, kind: "block" }, "", { updatedAt: time }),
        () => store.entries.set(scope, { ...entry, key: "new" }, { createdAt: time }),
        () => store.sessions.due({ changedBefore: time }),
      ];
      for (const write of writes) await expectError(write, "INVALID_ARGUMENT");
    }
    expect(await store.entries.list(scope, { knownAt: "0000-06-01", includeEnded: true })).toEqual([]);
    const tooEarly = { limit: 1, after: Date.parse("0000-06-01") };
    await expectError(() => store.entries.search(scope, "tea", tooEarly), "INVALID_ARGUMENT");
  });

  it("keeps a thousand children of one message in their order, and so does a copy", async (workspace) => {
    const { store } = workspace;
    const session = store.session("s");
    await session.append([message("root")]);
    const ids = Array.from({ length: 1000 }, (_, index) => `m${index}`);
    await session.importTree({ messages: ids.map((id) => ({ message: message(id), parentId: "root" })) });
    expect((await session.branches("root")).map(({ id }) => id)).toEqual(ids);
    expect((await session.path()).messages.map(({ id }) => id)).toEqual(["root", "m999"]);
    const lines = await collect(exportStore(store));
    const copy = await workspace.openAnother();
    expect((await copyStore(jsonl(bytesOf(lines)), copy)).ok).toBe(true);
    expect((await copy.session("s").branches("root")).map(({ id }) => id)).toEqual(ids);
  });

  it("knows which skills were loaded and unloaded, whatever they are called", async ({ store }) => {
    const session = store.session("s");
    await session.append([message("m")]);
    for (const text of TEXTS) {
      await session.changeSkills({ type: "load", label: text, key: text, toolCallId: text });
      await session.changeSkills({ type: "unload", label: text, key: text });
      await session.changeSkills({ type: "load", label: text, key: `${text}!`, toolCallId: text });
    }
    const { loaded, unloaded } = await session.skills();
    expect(loaded.map(({ label, key }) => [label, key])).toEqual(TEXTS.map((text) => [text, `${text}!`]));
    expect(unloaded.map(({ label, key }) => [label, key])).toEqual(TEXTS.map((text) => [text, text]));
  });

  it("refuses NUL and halves of surrogate pairs where a column would hold them, and stores nothing", async ({
    store,
  }) => {
    await store.session("s").append([message("m")]);
    for (const text of UNSTORABLE) for (const write of writesOf(store, text)) await expectError(write, "INVALID_TEXT");
    expect((await store.sessions.list({})).sessions.map(({ id }) => id)).toEqual(["s"]);
    expect(await store.blocks.list({ sessionId: "s" })).toEqual([]);
  });

  it("finds nothing by a text that no column holds", ["search"], async ({ store }) => {
    const session = store.session("\ufffd");
    await store.sessions.create({ id: "\ufffd", name: "s", metadata: { field: "\ufffd", "\ufffd": 1 } });
    await session.append([message("\ufffd", "tea")]);
    for (const text of ["\0", "\ud800", "\udc00"]) {
      expect(await session.siblingIds([text])).toEqual({});
      expect(await store.search("tea", { limit: 1, sessionId: text })).toEqual([]);
      for (const metadata of [{ field: text }, { [text]: 1 }]) {
        expect((await store.sessions.list({ metadata })).sessions).toEqual([]);
        expect(await store.search("tea", { limit: 1, sessionMetadata: metadata })).toEqual([]);
      }
      expect((await store.sessions.list({ metadata: { [text]: null } })).sessions.length).toBe(1);
    }
  });
});

function writesOf(store: Store, text: string): (() => Promise<unknown>)[] {
  const scope = { sessionId: "s", label: "l" };
  const range = { fromMessageId: "m", toMessageId: "m" };
  return [
    () => store.sessions.create({ id: "t", name: text }),
    () => store.sessions.update("s", { name: text }),
    () => store.sessions.addUsage("s", 1, 1, 1, text),
    () => store.session("s").addCompaction({ id: "k", summary: text, ...range }),
    () => store.blocks.set({ sessionId: "s", kind: "block", label: text }, ""),
    () => store.blocks.set({ sessionId: "s", kind: "block", label: "l" }, text),
    () => store.entries.set(scope, { key: text, content: "" }),
    () => store.entries.set(scope, { key: "k", content: text }),
    () => store.records.set(scope, text, new Uint8Array()),
  ];
}

function byBytes(one: string, other: string): number {
  const [a, b] = [one, other].map((text) => [...text].map((character) => character.codePointAt(0) as number)) as [
    number[],
    number[],
  ];
  const at = a.findIndex((point, index) => point !== b[index]);
  return at === -1 ? a.length - b.length : (a[at] as number) - (b[at] ?? -1);
}
