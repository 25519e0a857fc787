// One form: each part of a session is written and read in the same place.
import { fromBase64, toBase64 } from "../../../model/base64.js";
import type { SessionMessage } from "../../../model/message.js";
import type { SkillState } from "../../../model/skills.js";
import type {
  BlockKey,
  ImportedTree,
  Store,
  StoredCompaction,
  StoredEntry,
  StoredVersion,
  UsageRow,
} from "../../../storage/contract.js";
import { isScope } from "../../../storage/session-id.js";
import { fromSDKMessages, toSDKMessages } from "../../messages/sdk-message.js";
import { totalInput } from "../../models/usage.js";
import { extrasKey } from "../../session-extras.js";
import { OURS, SessionRecord } from "../../session-record.js";
import type { SDKMessage, SessionState } from "../../types.js";

/** From so many messages that are not converted yet on, all are read at once. */
const MANY = 4;

/** What a session has beyond the documented state. Only what there is, is there. */
interface Snapshot {
  name?: string;
  model?: string;
  source?: string;
  userId?: string;
  /** Fields of the registry entry that do not stand in the metadata of the state: one named as ours. */
  fields?: Record<string, unknown>;
  endReason?: string;
  /** Every message with its parent, in the order they were written. Absent: the messages of the state, one after the other. */
  tree?: [id: string, parentId: string | null][];
  /** The messages that are not on the active branch. */
  offBranch?: SDKMessage[];
  /** Null where messages are stored and none is the active leaf. */
  leaf?: string | null;
  /** When each message was stored, in the order they were written. Milliseconds since 1970. */
  times?: number[];
  /** Ids of the messages whose `createdAt` was given as a `Date`, which JSON writes as a text. */
  dated?: string[];
  compactions?: StoredCompaction[];
  blocks?: { kind: BlockKey["kind"]; label: string; content: string; version: number }[];
  entries?: (StoredEntry & { label: string; createdAt?: string; updatedAt?: string })[];
  /** Of the block `label`, or of its entry `key`, the newest first. */
  versions?: { label: string; key?: string; kept: StoredVersion[] }[];
  skills?: SkillState;
  /** What was used, by day and model. */
  usage?: UsageRow[];
  /** Their bytes as base64. */
  records?: { label: string; key: string; value: string; version: number; expiresAt: number | null }[];
}

/** Which blocks, entries and records a session has: a store does not list them. By block and entry, as JSON. */
export interface KnownKeys {
  readonly blocks: Map<string, KnownBlock>;
  readonly entries: Map<string, { readonly label: string; readonly key: string }>;
  /** The labels of its records. */
  readonly records: Set<string>;
}

type KnownBlock = Pick<BlockKey, "kind" | "label">;

export function newKeys(): KnownKeys {
  return { blocks: new Map(), entries: new Map(), records: new Set() };
}

export function blockName({ kind, label }: Pick<BlockKey, "kind" | "label">): string {
  return JSON.stringify([kind, label]);
}

export function entryName(label: string, key: string): string {
  return JSON.stringify([label, key]);
}

export interface ExportOptions {
  readonly endReason: string | null;
  /** When a message was stored, where the store does not know. */
  readonly times: (messageId: string) => string | null;
  /** The messages that were converted before and have not changed since; the others are added. */
  readonly converted: Map<string, ConvertedMessage>;
}

export interface ConvertedMessage {
  readonly sdk: readonly SDKMessage[];
  /** Its `createdAt` was given as a `Date`. */
  readonly dated: boolean;
}

/** The state of a session of `store`, with all of its branches, summaries and blocks. */
export async function exportSession(
  store: Store,
  id: string,
  keys: KnownKeys,
  { endReason, times, converted }: ExportOptions,
): Promise<Omit<SessionState, "createdAt" | "updatedAt">> {
  if (isScope(id)) return exportScope(store, id, keys);
  const info = await store.sessions.get(id);
  const record = info === null ? null : await SessionRecord.open(store, id);
  const session = store.session(id);
  const tree = await session.tree();
  const leaf = (await session.leaf())?.id;
  const compactions = await session.compactions();
  const skills = await readSkills(store, id);
  const missing = tree.filter((node) => !converted.has(node.id));
  // After a session was loaded nothing is converted yet: then all of it is read at once.
  if (missing.length > MANY) {
    for await (const { message } of session.messages()) {
      if (!converted.has(message.id)) converted.set(message.id, convert(message));
    }
  }
  for (const { id: messageId } of missing) {
    if (converted.has(messageId)) continue;
    const message = await session.message(messageId);
    if (message !== null) converted.set(messageId, convert(message));
  }
  const parents = new Map(tree.map((node) => [node.id, node.parentId]));
  const branch: string[] = [];
  for (let at = leaf ?? null; at !== null; at = parents.get(at) ?? null) branch.unshift(at);
  const plain = branch.length === tree.length && tree.every((node, index) => node.id === branch[index]);
  const onBranch = new Set(branch);
  const sdkOf = (ids: readonly string[]) => ids.flatMap((message) => converted.get(message)?.sdk ?? []);
  const dated = tree.filter((node) => converted.get(node.id)?.dated).map((node) => node.id);
  const ours: Snapshot = {
    ...(info === null || info.name === id ? {} : { name: info.name }),
    ...(info?.model ? { model: info.model } : {}),
    ...(info?.source ? { source: info.source } : {}),
    ...(info?.user_id ? { userId: info.user_id } : {}),
    ...(info !== null && Object.hasOwn(info.metadata, OURS) ? { fields: { [OURS]: info.metadata[OURS] } } : {}),
    ...(endReason === null ? {} : { endReason }),
    ...(plain ? {} : { tree: tree.map((node) => [node.id, node.parentId]) }),
    ...(plain ? {} : { offBranch: sdkOf(tree.map((node) => node.id).filter((node) => !onBranch.has(node))) }),
    ...(plain ? {} : { leaf: leaf ?? null }),
    ...nonEmpty("dated", dated),
    ...nonEmpty(
      "times",
      tree.map((node) => Date.parse(times(node.id) ?? node.createdAt)),
    ),
    ...nonEmpty("compactions", compactions),
    ...nonEmpty("blocks", await readBlocks(store, id, keys)),
    ...nonEmpty("entries", await readEntries(store, id, keys)),
    ...nonEmpty("versions", await readVersions(store, id, keys)),
    ...nonEmpty("usage", await store.sessions.usageRows(id)),
    ...nonEmpty("records", await readRecords(store, id, keys)),
    ...skills,
  };
  const metadata = { ...record?.metadata, ...(Object.keys(ours).length === 0 ? {} : { [OURS]: ours }) };
  const usage = record?.usage ?? { input_tokens: 0, output_tokens: 0 };
  const state = { id, messages: sdkOf(branch), usage, metadata };
  return info?.parent_session_id ? { ...state, parentId: info.parent_session_id } : state;
}

/** Puts a state into a store that does not have the session yet. Resolves to the keys of its blocks and entries. */
export async function importSession(store: Store, id: string, state: SessionState): Promise<KnownKeys> {
  const { [OURS]: found, ...metadata } = state.metadata ?? {};
  const ours = (found ?? {}) as Snapshot;
  if (isScope(id)) return importBlocks(store, id, ours);
  const { model, source, userId, fields } = ours;
  const isRegistered = id !== "" || userId !== undefined || fields !== undefined;
  if (isRegistered) {
    const name = ours.name ?? id;
    await store.sessions.create({ id, name, model, source, userId, metadata: fields, parentSessionId: state.parentId });
  }
  const tree = treeOf(state.messages ?? [], ours);
  const { skills } = ours;
  if (tree.messages.length > 0 || skills !== undefined) await store.session(id).importTree({ ...tree, skills });
  const keys = await importBlocks(store, id, ours);
  for (const { label, key, value, version, expiresAt } of ours.records ?? []) {
    keys.records.add(label);
    await store.records.set({ sessionId: id, label }, key, fromBase64(value), {
      version,
      expiresAt: expiresAt ?? undefined,
    });
  }
  const { usage } = state;
  if (usage && id !== "") {
    const { output_tokens: outputTokens, total_cost_usd: cost = 0 } = usage;
    await store.sessions.importUsage(id, { inputTokens: totalInput(usage), outputTokens, cost }, ours.usage);
  }
  if (isRegistered) {
    const record = await SessionRecord.open(store, id);
    if (usage) await record.setCounts(usage);
    await record.setMetadata({ ...record.metadata, ...metadata });
  }
  return keys;
}

async function importBlocks(store: Store, id: string, ours: Snapshot): Promise<KnownKeys> {
  const keys = newKeys();
  for (const { kind, label, content, version } of ours.blocks ?? []) {
    await store.blocks.set({ sessionId: id, kind, label }, content, { version, keepVersions: 0 });
    keys.blocks.set(blockName({ kind, label }), { kind, label });
  }
  for (const { label, createdAt, updatedAt, ...entry } of ours.entries ?? []) {
    const { key } = entry;
    await store.entries.set({ sessionId: id, label }, entry, { keepVersions: 0, createdAt, updatedAt });
    keys.entries.set(entryName(label, key), { label, key });
  }
  for (const { label, key, kept } of ours.versions ?? []) {
    if (key === undefined) await store.blocks.importVersions({ sessionId: id, kind: "block", label }, kept);
    else await store.entries.importVersions({ sessionId: id, label }, key, kept);
    if (key !== undefined) keys.entries.set(entryName(label, key), { label, key });
  }
  return keys;
}

/** Removes blocks and entries. */
export async function removeBlocks(store: Store, sessionId: string, keys: KnownKeys): Promise<void> {
  for (const { kind, label } of keys.blocks.values()) await store.blocks.delete({ sessionId, kind, label });
  for (const { label, key } of keys.entries.values())
    await store.entries.delete({ sessionId, label }, key, { keepVersions: 0 });
}

/** The blocks and entries of a scope, which is no session. */
async function exportScope(store: Store, id: string, keys: KnownKeys) {
  const blocks = nonEmpty("blocks", await readBlocks(store, id, keys));
  const entries = nonEmpty("entries", await readEntries(store, id, keys));
  const ours = { ...blocks, ...entries, ...nonEmpty("versions", await readVersions(store, id, keys)) };
  return { id, messages: [], usage: { input_tokens: 0, output_tokens: 0 }, metadata: { [OURS]: ours } };
}

/** When the messages of a state were stored, as ISO text by id. */
export function timesOf(state: SessionState): Map<string, string> {
  const ours = (state.metadata?.[OURS] ?? {}) as Snapshot;
  const { messages } = treeOf(state.messages ?? [], ours);
  const times = messages.flatMap(({ message }, index): [string, string][] => {
    const time = ours.times?.[index];
    return time === undefined ? [] : [[message.id, new Date(time).toISOString()]];
  });
  return new Map(times);
}

/** Why a session ended, as its state tells it; a store cannot be told. */
export function endReasonOf(state: SessionState): string | null {
  return ((state.metadata?.[OURS] ?? {}) as Snapshot).endReason ?? null;
}

function treeOf(messages: readonly SDKMessage[], ours: Snapshot): ImportedTree {
  const dated = new Set(ours.dated);
  const all = fromSDKMessages([...messages]).concat(fromSDKMessages(ours.offBranch ?? []));
  const stored = new Map(all.map((message) => [message.id, dated.has(message.id) ? withDate(message) : message]));
  if (stored.size < all.length) throw new TypeError("Two messages have the same id.");
  const order =
    ours.tree ?? [...stored.keys()].map((id, index, ids): [string, string | null] => [id, ids[index - 1] ?? null]);
  return {
    messages: order.flatMap(([id, parentId]) => {
      const message = stored.get(id);
      return message === undefined ? [] : [{ message, parentId }];
    }),
    compactions: ours.compactions ?? [],
    activeLeafId: ours.leaf === undefined ? order.at(-1)?.[0] : ours.leaf,
  };
}

async function readBlocks(store: Store, sessionId: string, keys: KnownKeys): Promise<Listed<"blocks">> {
  const blocks: Listed<"blocks"> = [];
  const extras = extrasKey(sessionId);
  for (const { kind, label } of keys.blocks.values()) {
    // What it says stands in the state itself.
    if (kind === extras.kind && label === extras.label) continue;
    const block = await store.blocks.get({ sessionId, kind, label });
    if (block !== null) blocks.push({ kind, label, content: block.content, version: block.version });
  }
  return blocks;
}

async function readEntries(store: Store, sessionId: string, keys: KnownKeys): Promise<Listed<"entries">> {
  const entries: Listed<"entries"> = [];
  for (const { label, key } of keys.entries.values()) {
    const entry = await store.entries.get({ sessionId, label }, key);
    if (entry !== null) entries.push({ label, ...entry });
  }
  return entries;
}

async function readVersions(store: Store, sessionId: string, keys: KnownKeys): Promise<Listed<"versions">> {
  const versions: Listed<"versions"> = [];
  // What is only the present one, of which nothing is known, is told with the block itself.
  const isKept = ({ author, content }: StoredVersion, index: number) =>
    index > 0 || author !== null || content === null;
  for (const { kind, label } of keys.blocks.values()) {
    if (kind === "prompt") continue;
    const kept = (await store.blocks.versions({ sessionId, kind, label })).filter(isKept);
    if (kept.length > 0) versions.push({ label, kept });
  }
  for (const { label, key } of keys.entries.values()) {
    const kept = (await store.entries.versions({ sessionId, label }, key)).filter(isKept);
    if (kept.length > 0) versions.push({ label, key, kept });
  }
  return versions;
}

async function readRecords(store: Store, sessionId: string, keys: KnownKeys): Promise<Listed<"records">> {
  const records: Listed<"records"> = [];
  for (const label of keys.records) {
    const found = await store.records.list({ sessionId, label }, { limit: Number.MAX_SAFE_INTEGER });
    for (const { value, ...record } of found) records.push({ label, ...record, value: toBase64(value) });
  }
  return records;
}

// The numbers in it are those of a store's rows; calls are known by their ids as well, which hold everywhere.
async function readSkills(store: Store, id: string): Promise<Pick<Snapshot, "skills">> {
  const { loaded, unloaded } = await store.session(id).skills();
  if (loaded.length === 0 && unloaded.length === 0) return {};
  return { skills: { loaded, unloaded: unloaded.map((skill) => ({ ...skill, through: 0 })) } };
}

function convert(message: SessionMessage): ConvertedMessage {
  if (!(message.createdAt instanceof Date)) return { sdk: toSDKMessages([message]), dated: false };
  return { sdk: toSDKMessages([{ ...message, createdAt: message.createdAt.toISOString() }]), dated: true };
}

function withDate(message: SessionMessage): SessionMessage {
  return message.createdAt === undefined ? message : { ...message, createdAt: new Date(message.createdAt) };
}

type Listed<K extends keyof Snapshot> = NonNullable<Snapshot[K]>;

function nonEmpty(key: keyof Snapshot, list: readonly unknown[]): Snapshot {
  return list.length === 0 ? {} : { [key]: list };
}
