import { promptKey, type Store } from "../../packages/store/src/contract/store.js";

/** A secret, in the form that `redact` looks for. */
export const SECRET = "sk-qzcanaryqz0123456789";
const PATTERN = /sk-[a-z0-9]{20}/g;

/** Replaces such secrets. */
export const redact = (text: string): string => text.replaceAll(PATTERN, "[key]");

/** A text with the secret in it. */
export const TOLD = `my key is ${SECRET}, keep it`;

/** What a model streams that thinks and says the text in two pieces each: the secret is cut behind `at` of its characters. */
export function cutChunks(at: number) {
  const pieces = [TOLD.slice(0, 10 + at), TOLD.slice(10 + at)];
  const parts = (type: "text" | "reasoning", id: string) => [
    { type: `${type}-start`, id },
    ...pieces.map((delta) => ({ type: `${type}-delta`, id, delta })),
    { type: `${type}-end`, id },
  ];
  return [...parts("reasoning", "r"), ...parts("text", "t")];
}

/** How often the secret stands in what is kept, also as base64. */
export function occurrences(kept: string): number {
  const encoded = [0, 1, 2].map((shift) =>
    Buffer.from("x".repeat(shift) + SECRET)
      .toString("base64")
      .slice(4, -4),
  );
  const found = [SECRET, "qzcanaryqz", ...encoded];
  const text = kept.toLowerCase();
  return found.filter((each) => text.includes(each.toLowerCase())).length;
}

/** Rows of any database as one text, with what is in bytes. */
export function textOfRows(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("latin1");
  if (typeof value !== "object" || value === null) return String(value);
  return Object.values(value).map(textOfRows).join("\n");
}

export const said = (id: string, text = TOLD) => ({ id, role: "user", parts: [{ type: "text", text }] });

/** A message with the secret in everything that may hold text. */
export const everywhere = (id: string) => ({
  id,
  role: "assistant",
  metadata: { name: TOLD, deep: [{ er: TOLD }] },
  parts: [
    { type: "text", text: TOLD, providerMetadata: { some: { note: TOLD } } },
    { type: "reasoning", text: TOLD },
    {
      type: "tool-look",
      toolCallId: `call-${id}`,
      state: "output-available",
      input: { deep: [{ er: TOLD }], id: TOLD, type: TOLD },
      output: { content: [{ type: "text", text: TOLD }] },
    },
    { type: "tool-look", toolCallId: `failed-${id}`, state: "output-error", input: {}, errorText: TOLD },
    { type: "file", mediaType: "text/plain", filename: `${SECRET}.txt`, url: urlOf("text/plain", TOLD) },
    { type: "file", mediaType: "application/json", url: urlOf("application/json", "x".repeat(5000) + TOLD) },
    { type: "file", mediaType: "text/plain", url: `data:text/plain,${encodeURIComponent(TOLD)}` },
    { type: "media", mediaType: "text/plain", data: Buffer.from("y".repeat(5000) + TOLD).toString("base64") },
    { type: "source-url", sourceId: "s", url: `https://example.com/?key=${SECRET}`, title: TOLD },
    { type: "data-note", id: "d", data: { text: TOLD } },
  ],
});

const urlOf = (type: string, text: string) => `data:${type};base64,${Buffer.from(text).toString("base64")}`;

const bytes = (text: string) => new TextEncoder().encode(text);
const BLOCK = { sessionId: "s", kind: "block", label: "memory" } as const;
const ENTRIES = { sessionId: "s", label: "facts" };
const RECORDS = { sessionId: "s", label: "mine" };
const VERSION = { version: 9, writtenAt: "2026-01-01T00:00:00.000Z", author: null, sessionId: null } as const;
const URL_TOLD = new URL(`https://example.com/?key=${SECRET}`);
const versions = [{ ...VERSION, content: TOLD, messageIds: [], toolCallId: null }];

/** Every method of the contract that takes a text, with the secret in it. */
export const WAYS: Readonly<Record<string, (store: Store) => Promise<unknown>>> = {
  "session.append": (store) => store.session("s").append([said("a"), everywhere("b")]),
  "session.appendSibling": (store) => store.session("s").appendSibling("first", said("sibling")),
  "session.update": (store) => store.session("s").update(everywhere("first")),
  "session.upsert": (store) => store.session("s").upsert(everywhere("upserted")),
  "session.importTree": (store) =>
    store.session("imported").importTree({
      messages: [
        { message: everywhere("i1"), parentId: null },
        { message: said("i2"), parentId: "i1" },
      ],
      compactions: [{ id: "compaction_x", summary: TOLD, fromMessageId: "i1", toMessageId: "i2" }],
      session: { name: TOLD, metadata: { note: TOLD } },
    }),
  "session.search": (store) => store.session("s").search(TOLD, { limit: 1 }),
  "session.addCompaction": (store) =>
    store
      .session("s")
      .addCompaction({ id: "compaction_y", summary: TOLD, fromMessageId: "first", toMessageId: "first" }),
  "sessions.create": (store) => store.sessions.create({ id: "created", name: TOLD, metadata: { deep: [TOLD] } }),
  "sessions.update": (store) => store.sessions.update("s", { name: TOLD, metadata: { note: TOLD } }),
  "sessions.update with what JSON makes a text": (store) =>
    store.sessions.update("s", { metadata: { url: URL_TOLD } as never }),
  "sessions.update with what reads otherwise the second time": (store) => {
    let reads = 0;
    const metadata = {
      get note() {
        reads += 1;
        return TOLD.repeat(reads);
      },
    };
    return store.sessions.update("s", { metadata });
  },
  "sessions.fork": (store) => store.sessions.fork("s", "first", { id: "forked", name: TOLD, metadata: { note: TOLD } }),
  "sessions.split": (store) => store.sessions.split("s", said("opening"), { id: "split", name: TOLD }),
  "blocks.set": (store) => store.blocks.set(BLOCK, TOLD),
  "blocks.set of a prompt": (store) => store.blocks.set(promptKey("s"), TOLD),
  "blocks.set of JSON": (store) => store.blocks.set({ ...BLOCK, label: "json" }, JSON.stringify({ deep: [TOLD] })),
  "blocks.set of JSON with the secret as a key": (store) =>
    store.blocks.set({ ...BLOCK, label: "keys" }, JSON.stringify({ [TOLD]: 1 })),
  "blocks.set of JSON with the secret in a field that stands twice": (store) =>
    store.blocks.set({ ...BLOCK, label: "twice" }, `{"a":"${TOLD}","a":"b"}`),
  "blocks.append": (store) => store.blocks.append(BLOCK, TOLD, { maxTokens: 1000 }),
  "blocks.importVersions": (store) => store.blocks.importVersions(BLOCK, versions),
  "entries.set": (store) => store.entries.set(ENTRIES, { key: "k", content: TOLD, value: { deep: [TOLD] } }),
  "entries.set of what JSON makes a text": (store) =>
    store.entries.set(ENTRIES, { key: "k", content: "a", value: { url: URL_TOLD } as never }),
  "entries.append": (store) => store.entries.append(ENTRIES, { key: "l", content: TOLD }, { maxTokens: 1000 }),
  "entries.delete": (store) => store.entries.delete(ENTRIES, "none", { expectedContent: TOLD }).catch(onlyConflict),
  "entries.importVersions": (store) => store.entries.importVersions(ENTRIES, "m", versions),
  "entries.search": (store) => store.entries.search(ENTRIES, TOLD, { limit: 1 }),
  "records.set": (store) => store.records.set(RECORDS, "json", bytes(JSON.stringify({ deep: [TOLD] }))),
  "records.set of text": (store) => store.records.set(RECORDS, "text", bytes(TOLD)),
  search: (store) => store.search(TOLD, { limit: 1 }),
  writeTogether: (store) =>
    store.writeTogether([
      { session: "s", append: [everywhere("t1")] },
      { session: "s", appendSibling: said("t2"), of: "first" },
      { session: "s", upsert: said("t3") },
      { session: "s", update: said("first", `${TOLD} again`) },
      { block: { ...BLOCK, label: "together" }, content: TOLD },
      { entries: ENTRIES, key: "together", content: TOLD, value: [TOLD] },
      { records: RECORDS, key: "together", value: bytes(JSON.stringify([TOLD])) },
      { registered: "s", change: { name: TOLD, metadata: { other: TOLD } } },
    ]),
};

// The text that it expects is not there; what is looked at is whether it was redacted before.
function onlyConflict(error: { code?: string }): void {
  if (error.code !== "ENTRY_CONFLICT") throw error;
}

/** What the ways write to, without a secret. */
export async function prepare(store: Store): Promise<void> {
  await store.sessions.create({ id: "s", name: "s" });
  await store.session("s").append([said("first", "nothing to hide")]);
}
