import { inspect, isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { collect } from "../../packages/conformance/src/samples.js";
import { decodeJson, encodeJson, setField } from "../../packages/model/src/lib/json.js";
import { NAME_LIMITS } from "../../packages/model/src/messages/storable-text.js";
import { AgentSearchProvider, Session, SessionManager, type Store } from "../../packages/stemma/src/session.js";
import { promptKey } from "../../packages/store/src/contract/store.js";
import { textMessage } from "../helpers/messages.js";
import { bytes, contents, createdAt, messageWith, numbers, texts, times, values } from "./boundary-values.js";

/** One write of a value, and how it is read back. */
export interface Write {
  readonly field: string;
  readonly value: unknown;
  /** As a program writes it. `place` names nothing else of the store. */
  write(store: Store, place: string): Promise<unknown>;
  /** What the store then says the value is. */
  read?: ((store: Store, place: string) => Promise<unknown>) | undefined;
}

/** Writes of a field, each with one of the values. */
function field<T>(
  name: string,
  arbitrary: fc.Arbitrary<T>,
  write: (store: Store, value: T, place: string) => Promise<unknown>,
  read?: (store: Store, value: T, place: string) => Promise<unknown>,
): fc.Arbitrary<Write> {
  return arbitrary.map((value) => ({
    field: name,
    value,
    write: (store, place) => write(store, value, place),
    read: read && ((store, place) => read(store, value, place)),
  }));
}

/** Names of just as many bytes as they may have, and of one more. */
const atLimit = (kind: keyof typeof NAME_LIMITS) =>
  fc.tuple(fc.constantFrom("x", "é", "漢", "🙂"), fc.constantFrom(0, 1)).map(([unit, more]) => {
    const [bytes, each] = [NAME_LIMITS[kind] + more, Buffer.byteLength(unit)];
    return unit.repeat(Math.floor(bytes / each)) + "x".repeat(bytes % each);
  });

const textFields = ["name", "parentSessionId", "model", "source"] as const;
const nameOfField = { name: "name", parentSessionId: "parent_session_id", model: "model", source: "source" } as const;

const info = async (store: Store, id: string) => {
  const found = await store.sessions.get(id);
  if (found === null) throw new Error(`The session "${id}" is not there.`);
  return found;
};
const make = (store: Store, id: string, more: object = {}) => store.sessions.create({ id, name: id, ...more });
const first = <T>(list: readonly T[]): T => list[0] as T;

const registry: fc.Arbitrary<Write>[] = [
  ...textFields.map((name) =>
    field(
      `a session's ${name}`,
      texts,
      (store, value, place) => make(store, place, { [name]: value }),
      async (store, _value, place) => (await info(store, place))[nameOfField[name]],
    ),
  ),
  field(
    "a session's user",
    texts,
    (store, value, place) => make(store, place, { userId: value }),
    async (store, _value, place) => (await info(store, place)).user_id,
  ),
  field(
    "a session's id",
    texts,
    (store, value) => store.sessions.create({ id: value, name: "n" }),
    async (store, value) => (await info(store, value)).id,
  ),
  field(
    "the id of a session with a message",
    texts,
    async (store, value, place) => store.session(value).append([textMessage(place)]),
    async (store, value) => (await info(store, value)).id,
  ),
  field(
    "a manager's new session",
    fc.tuple(texts, texts, texts),
    async (store, [name, model, source], place) =>
      SessionManager.create(store).create(name, { id: place, model, source }),
    async (store, _value, place) => {
      const { name, model, source } = await info(store, place);
      return [name, model, source];
    },
  ),
  field(
    "a session's new name",
    texts,
    async (store, value, place) => {
      await make(store, place);
      return store.sessions.update(place, { name: value });
    },
    async (store, _value, place) => (await info(store, place)).name,
  ),
  field(
    "a session's metadata",
    fc.tuple(texts, values).map(([key, value]) => ({ [key]: value })),
    (store, value, place) => make(store, place, { metadata: value }),
  ),
  field(
    "a session's end reason",
    texts,
    async (store, value, place) => {
      await make(store, place);
      return store.sessions.restore(place, { endReason: value });
    },
    async (store, _value, place) => (await info(store, place)).end_reason,
  ),
  field(
    "a session's dates",
    fc.tuple(times, times),
    async (store, [createdAt, updatedAt], place) => {
      await make(store, place);
      return store.sessions.restore(place, { createdAt, updatedAt });
    },
    async (store, _value, place) => {
      const { created_at, updated_at } = await info(store, place);
      return [created_at, updated_at];
    },
  ),
  field(
    "the model of usage",
    texts,
    async (store, value, place) => {
      await make(store, place);
      return store.sessions.addUsage(place, 1, 2, 0.5, value);
    },
    async (store, _value, place) => first(await store.sessions.usageRows(place)).model,
  ),
  ...([0, 1, 2] as const).map((at) =>
    field(
      ["input tokens", "output tokens", "a cost"][at] as string,
      numbers,
      async (store, value, place) => {
        await make(store, place);
        const counted = [0, 0, 0].map((none, index) => (index === at ? value : none)) as [number, number, number];
        return store.sessions.addUsage(place, ...counted, "m");
      },
      async (store, _value, place) => {
        const { inputTokens, outputTokens, cost } = first(await store.sessions.usageRows(place));
        // No engine keeps the sign of nothing.
        return [inputTokens, outputTokens, cost][at];
      },
    ),
  ),
];

const messages: fc.Arbitrary<Write>[] = [
  field(
    "a message",
    messageWith(fc.constant("m")),
    (store, value, place) => store.session(place).append([value as never]),
    (store, _value, place) => store.session(place).message("m"),
  ),
  field(
    "a message's id",
    texts,
    (store, value, place) => store.session(place).append([{ ...textMessage("m"), id: value }]),
    async (store, value, place) => (await store.session(place).message(value))?.id,
  ),
  field(
    "a message's time",
    createdAt,
    (store, value, place) => store.session(place).append([{ ...textMessage("m"), createdAt: value } as never]),
    async (store, _value, place) => (await store.session(place).message("m"))?.createdAt,
  ),
  field(
    "a message in the place of another",
    messageWith(fc.constant("m")),
    async (store, value, place) => {
      await store.session(place).append([textMessage("m"), textMessage("n")]);
      return store.session(place).update(value as never);
    },
    (store, _value, place) => store.session(place).message("m"),
  ),
  field(
    "when a message was stored",
    times,
    (store, value, place) =>
      store.session(place).importTree({ messages: [{ message: textMessage("m"), parentId: null, storedAt: value }] }),
    async (store, _value, place) => first(await collect(store.session(place).messages())).storedAt,
  ),
  field(
    "an active leaf",
    fc.constantFrom("a", "b", "c", null),
    async (store, value, place) => {
      await store.session(place).append([textMessage("a"), textMessage("b")]);
      await store.session(place).append([textMessage("c")], "a");
      await store.session(place).setActiveLeaf(value);
    },
    async (store, _value, place) => (await store.session(place).leaf())?.id ?? null,
  ),
  field(
    "a summary",
    contents,
    async (store, value, place) => {
      await store.session(place).append([textMessage("a"), textMessage("b"), textMessage("c")]);
      const range = { fromMessageId: "a", toMessageId: "b" };
      return store.session(place).addCompaction({ id: "k", summary: value, ...range });
    },
    async (store, _value, place) => first(await store.session(place).compactions()).summary,
  ),
  field(
    "a summary's id",
    texts,
    async (store, value, place) => {
      await store.session(place).append([textMessage("a"), textMessage("b")]);
      const compaction = { id: value, summary: "s", fromMessageId: "a", toMessageId: "a" };
      return store.session(place).importTree({ messages: [], compactions: [compaction] });
    },
    async (store, _value, place) => first(await store.session(place).compactions()).id,
  ),
  field(
    "when a summary was made, and what it covered",
    fc.tuple(times, fc.constantFrom(0, 1, Number.MAX_SAFE_INTEGER)),
    async (store, [createdAt, coveredTokens], place) => {
      await store.session(place).append([textMessage("a"), textMessage("b")]);
      const range = { fromMessageId: "a", toMessageId: "a" };
      const compaction = { id: "k", summary: "s", ...range, createdAt, coveredTokens };
      return store.session(place).importTree({ messages: [], compactions: [compaction] });
    },
    async (store, _value, place) => [
      first(await store.session(place).compactions()).createdAt,
      first(await store.sessions.compactionSums({ by: "compaction", sessionId: place })).tokensBefore,
    ],
  ),
  field(
    "a skill that was unloaded",
    fc.record({ label: texts, key: texts, toolCallId: texts }),
    async (store, { label, key, toolCallId }, place) => {
      await store.session(place).append([textMessage("m")]);
      await store.session(place).changeSkills({ type: "load", label, key, toolCallId });
      await store.session(place).changeSkills({ type: "unload", label, key });
    },
    async (store, _value, place) => {
      const { label, key, toolCallIds } = first((await store.session(place).skills()).unloaded);
      return { label, key, toolCallId: toolCallIds[0] };
    },
  ),
  field(
    "the number of a message's children",
    fc.constantFrom(1, 2, 30),
    async (store, value, place) => {
      await store.session(place).append([textMessage("root")]);
      const ids = Array.from({ length: value }, (_, index) => `m${index}`);
      return store
        .session(place)
        .importTree({ messages: ids.map((id) => ({ message: textMessage(id), parentId: "root" })) });
    },
    async (store, _value, place) => (await store.session(place).branches("root")).length,
  ),
  field(
    "the summary of a manager's split",
    contents,
    async (store, value, place) => {
      await make(store, place);
      await SessionManager.create(store).compactAndSplit(place, value);
    },
    async (store, value, place) => {
      const { sessions } = await store.sessions.list({ orderBy: "registered" });
      const split = sessions.find(({ parent_session_id }) => parent_session_id === place);
      const { messages } = await store.session(split?.id ?? "").path();
      return (first(messages).parts[0]?.text ?? "").slice(-value.length || Number.POSITIVE_INFINITY);
    },
  ),
  field(
    "a loaded skill",
    fc.record({ label: texts, key: texts, toolCallId: texts }),
    (store, value, place) => store.session(place).changeSkills({ type: "load", ...value }),
    async (store, _value, place) => {
      const { label, key, toolCallIds } = first((await store.session(place).skills()).loaded);
      return { label, key, toolCallId: toolCallIds[0] };
    },
  ),
];

const kept: fc.Arbitrary<Write>[] = [
  field(
    "a block's content",
    contents,
    (store, value, place) => store.blocks.set({ sessionId: place, kind: "block", label: "l" }, value),
    async (store, _value, place) => (await store.blocks.get({ sessionId: place, kind: "block", label: "l" }))?.content,
  ),
  field(
    "a block's label",
    texts,
    (store, value, place) => store.blocks.set({ sessionId: place, kind: "block", label: value }, ""),
    async (store, _value, place) => (await store.blocks.list({ sessionId: place })).map(({ label }) => label)[0],
  ),
  field(
    "the key of a scope",
    texts,
    (store, value, place) =>
      store.blocks.set({ sessionId: "", kind: "block", label: place, scope: { key: value } }, ""),
    async (store, value, place) =>
      value === (await store.blocks.owners("key", { limit: 1000 })).find((key) => key === value) &&
      (await store.blocks.get({ sessionId: "", kind: "block", label: place, scope: { key: value } })) !== null
        ? value
        : null,
  ),
  field(
    "a user with a block",
    texts,
    async (store, value, place) =>
      store.forUser(value).blocks.set({ sessionId: "", kind: "block", label: place, scope: "user" }, ""),
    async (store, value) => (await store.blocks.owners("user", { limit: 1000 })).find((user) => user === value),
  ),
  field(
    "a block's date and number",
    fc.tuple(times, fc.constantFrom(1, 2, Number.MAX_SAFE_INTEGER - 1)),
    (store, [updatedAt, version], place) =>
      store.blocks.set({ sessionId: place, kind: "block", label: "l" }, "", { updatedAt, version }),
    async (store, _value, place) => {
      const { updatedAt, version } = first(await store.blocks.list({ sessionId: place }));
      return [updatedAt, version];
    },
  ),
  field(
    "a frozen prompt",
    contents,
    (store, value, place) => store.blocks.set(promptKey(place), value),
    async (store, _value, place) => (await store.blocks.get(promptKey(place)))?.content,
  ),
  field(
    "where a block comes from",
    fc.record({
      author: fc.constantFrom("model", "program", "learning", "import"),
      sessionId: texts,
      messageIds: fc.array(texts, { maxLength: 2 }),
      toolCallId: texts,
    }),
    (store, value, place) =>
      store.blocks.set({ sessionId: place, kind: "block", label: "l" }, "", { origin: value as never }),
    async (store, _value, place) => {
      const versions = await store.blocks.versions({ sessionId: place, kind: "block", label: "l" });
      const { author, sessionId, messageIds, toolCallId } = first(versions);
      return { author, sessionId, messageIds, toolCallId };
    },
  ),
  field(
    "an entry",
    fc.record({ key: texts, content: contents, value: values }),
    (store, value, place) => store.entries.set({ sessionId: place, label: "l" }, value),
    async (store, { key }, place) => {
      const {
        createdAt: _made,
        updatedAt: _changed,
        ...read
      } = first(await store.entries.list({ sessionId: place, label: "l" }));
      expectSame(await store.entries.get({ sessionId: place, label: "l" }, key), {
        ...read,
        createdAt: _made,
        updatedAt: _changed,
      });
      // Nothing was written of its time.
      const times = [
        "validFrom",
        "validTo",
        "invalidatedAt",
        "expiresAt",
        "supersedes",
        "supersededBy",
        "tags",
        "origin",
        "ends",
      ];
      const entry = Object.fromEntries(Object.entries(read).filter(([name]) => !times.includes(name)));
      return entry;
    },
  ),
  field(
    "an entry's label",
    texts,
    (store, value, place) => store.entries.set({ sessionId: place, label: value }, { key: "k", content: "" }),
    async (store, _value, place) => first(await store.entries.labels({ sessionId: place })).label,
  ),
  field(
    "an entry's dates",
    fc.tuple(times, times),
    (store, [createdAt, updatedAt], place) =>
      store.entries.set({ sessionId: place, label: "l" }, { key: "k", content: "" }, { createdAt, updatedAt }),
    async (store, _value, place) => {
      const { createdAt, updatedAt } = first(await store.entries.list({ sessionId: place, label: "l" }));
      return [createdAt, updatedAt];
    },
  ),
  field(
    "an entry that was removed",
    fc.tuple(texts, contents),
    async (store, [key, content], place) => {
      await store.entries.set({ sessionId: place, label: "l" }, { key, content });
      await store.entries.delete({ sessionId: place, label: "l" }, key);
    },
    async (store, [key], place) => {
      const removed = first(await store.entries.removed({ sessionId: place })).key;
      const [gone, before] = await store.entries.versions({ sessionId: place, label: "l" }, key);
      return gone?.content === null ? [removed, before?.content] : null;
    },
  ),
  field(
    "a record",
    fc.record({ key: texts, value: bytes }),
    (store, { key, value }, place) => store.records.set({ sessionId: place, label: "l" }, key, value),
    async (store, { key }, place) => {
      const found = first(await store.records.list({ sessionId: place, label: "l" }));
      expectSame(await store.records.get({ sessionId: place, label: "l" }, key), found);
      return { key: found.key, value: found.value };
    },
  ),
  field(
    "a record's label",
    texts,
    (store, value, place) => store.records.set({ sessionId: place, label: value }, "k", Uint8Array.of()),
    async (store, _value, place) => first(await store.records.labels(place)),
  ),
  field(
    "the chunks of an answer that is being written",
    fc.array(values, { maxLength: 3 }).map((chunks) => JSON.parse(JSON.stringify(chunks))),
    (store, value, place) =>
      store.records.set({ sessionId: place, label: "runs" }, "chunks/run/00000000", encodeJson(value)),
    async (store, _value, place) =>
      decodeJson(first(await store.records.list({ sessionId: place, label: "runs" }, { prefix: "chunks/run/" })).value),
  ),
  field("the key of an entry that a model titled", texts, async (store, value, place) => {
    const session = Session.create(store).forSession(place);
    session.withContext("facts", { provider: new AgentSearchProvider(store) });
    const { set_context } = await session.tools();
    await set_context?.execute({ label: "facts", content: "tea", metadata: { title: value } });
  }),
  field("what is appended to a block that holds no token", texts, (store, value, place) =>
    store.blocks.append({ sessionId: place, kind: "block", label: "l" }, value, { maxTokens: 0 }),
  ),
  field(
    "a record's end and number",
    fc.tuple(fc.constantFrom(8.64e15, Number.MAX_SAFE_INTEGER), fc.constantFrom(1, Number.MAX_SAFE_INTEGER)),
    (store, [expiresAt, version], place) =>
      store.records.set({ sessionId: place, label: "l" }, "k", Uint8Array.of(0), { expiresAt, version }),
    async (store, _value, place) => {
      const { expiresAt, version } = first(await store.records.list({ sessionId: place, label: "l" }));
      return [expiresAt, version];
    },
  ),
];

const limits: fc.Arbitrary<Write>[] = [
  field("the longest id of a session", atLimit("id"), (store, value) =>
    store.sessions.create({ id: value, name: "n" }),
  ),
  field("the longest name", atLimit("name"), (store, value, place) => make(store, place, { name: value })),
  field("the longest model", atLimit("model"), (store, value, place) => make(store, place, { model: value })),
  field("the longest user", atLimit("owner"), (store, value, place) => make(store, place, { userId: value })),
  field("the longest id of a message", atLimit("id"), (store, value, place) =>
    store.session(place).append([textMessage(value, "")]),
  ),
  field("the longest role", atLimit("role"), (store, value, place) =>
    store.session(place).append([{ ...textMessage("m"), role: value }]),
  ),
  field("the longest label", atLimit("label"), (store, value, place) =>
    store.blocks.set({ sessionId: place, kind: "block", label: value }, ""),
  ),
  field("the longest key of an entry", atLimit("key"), (store, value, place) =>
    store.entries.set({ sessionId: place, label: "l" }, { key: value, content: "" }),
  ),
  field("the longest key of a record", atLimit("key"), (store, value, place) =>
    store.records.set({ sessionId: place, label: "l" }, value, Uint8Array.of()),
  ),
];

/** Any write of any field. */
export const writes: fc.Arbitrary<Write> = fc.oneof(...registry, ...messages, ...kept, ...limits);

/** What is kept of a value: what JSON makes of it, but for dates of messages and for bytes. */
export function asStored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each) => asStored(each) ?? null);
  if (typeof value === "number") return value + 0;
  if (typeof value !== "object" || value === null || value instanceof Date || value instanceof Uint8Array) return value;
  const stored: Record<string, unknown> = {};
  for (const [key, field] of Object.entries(value)) {
    if (field === undefined) continue;
    const isOwn = (key === "createdAt" && field instanceof Date) || field instanceof Uint8Array;
    setField(stored, key, isOwn ? field : JSON.parse(JSON.stringify(field)));
  }
  return stored;
}

function expectSame(one: unknown, other: unknown): void {
  if (!isDeepStrictEqual(one, other)) throw new Error(`${inspect(one)} is not ${inspect(other)}`);
}
