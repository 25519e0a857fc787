import type { SessionMessage, SkillState } from "@stemma/model";
import { fromBase64, toBase64 } from "@stemma/model";
import type {
  BlockKey,
  EntryEnd,
  ImportedTree,
  SessionStore,
  Store,
  StoredCompaction,
  StoredEntry,
  StoredVersion,
  TreeNode,
  UsageRow,
} from "@stemma/store";
import { isScope, readKept } from "@stemma/store";
import { fromSDKMessages, toSDKMessages } from "../../messages/sdk-message.js";
import { totalInput } from "../../models/model.js";
import { extrasKey, OURS, SessionRecord } from "../../session-record.js";
import type { SDKMessage, SessionState } from "../../types.js";
/**
 * The state of a session of `store`, with all of its branches, summaries and blocks. `converted` has the messages that were
 * converted before and have not changed since; the others are added.
 */
export async function exportSession(
  store: Store,
  id: string,
  converted: Map<string, ConvertedMessage>,
): Promise<Omit<SessionState, "createdAt" | "updatedAt">> {
  if (isScope(id)) return exportScope(store, id);
  const info = await store.sessions.get(id);
  const record = info === null ? null : await SessionRecord.open(store, id);
  const session = store.session(id);
  const tree = await session.tree();
  const leaf = (await session.leaf())?.id;
  const compactions = await session.compactions();
  const skills = await readSkills(store, id);
  await convertMissing(session, tree, converted);
  const parents = new Map(tree.map((node) => [node.id, node.parentId]));
  const branch: string[] = [];
  for (let at = leaf ?? null; at !== null; at = parents.get(at) ?? null) branch.push(at);
  branch.reverse();
  const plain = branch.length === tree.length && tree.every((node, index) => node.id === branch[index]);
  const onBranch = new Set(branch);
  const sdkOf = (ids: readonly string[]) => ids.flatMap((message) => converted.get(message)?.sdk ?? []);
  const dated = tree.filter((node) => converted.get(node.id)?.dated).map((node) => node.id);
  const ours: Snapshot = {
    ...(info === null || info.name === id ? {} : { name: info.name }),
    ...textField("model", info?.model),
    ...textField("source", info?.source),
    ...textField("userId", info?.user_id),
    ...(info !== null && Object.hasOwn(info.metadata, OURS) ? { fields: { [OURS]: info.metadata[OURS] } } : {}),
    ...textField("endReason", info?.end_reason),
    ...(plain ? {} : { tree: tree.map((node) => [node.id, node.parentId]) }),
    ...(plain ? {} : { offBranch: sdkOf(tree.map((node) => node.id).filter((node) => !onBranch.has(node))) }),
    ...(plain ? {} : { leaf: leaf ?? null }),
    ...nonEmpty("dated", dated),
    ...nonEmpty(
      "times",
      tree.map((node) => Date.parse(node.createdAt)),
    ),
    ...nonEmpty("compactions", compactions),
    ...(await readMemory(store, id)),
    ...nonEmpty("usage", await store.sessions.usageRows(id)),
    ...skills,
  };
  const metadata = { ...record?.metadata, ...(Object.keys(ours).length === 0 ? {} : { [OURS]: ours }) };
  const usage = record?.usage ?? { input_tokens: 0, output_tokens: 0 };
  const state = { id, messages: sdkOf(branch), usage, metadata };
  return { ...state, ...textField("parentId", info?.parent_session_id) };
}

/** Puts a state into a store that does not have the session yet. Errors, with `onlyNew`: `SESSION_CONFLICT` where messages of it are there. */
export async function importSession(store: Store, id: string, state: SessionState, onlyNew = false): Promise<void> {
  const { [OURS]: found, ...metadata } = state.metadata ?? {};
  const ours = (found ?? {}) as Snapshot;
  if (isScope(id)) return writeMemory(store, id, ours);
  const { model, source, userId, fields } = ours;
  const isRegistered = id !== "" || userId !== undefined || fields !== undefined;
  if (isRegistered) {
    const name = ours.name ?? id;
    await store.sessions.create({ id, name, model, source, userId, metadata: fields, parentSessionId: state.parentId });
  }
  const tree = treeIn(state, ours);
  const { skills } = ours;
  if (tree.messages.length > 0 || skills !== undefined)
    await store.session(id).importTree({ ...tree, skills, onlyNew });
  await writeMemory(store, id, ours);
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
  if ((await store.sessions.get(id)) === null) return;
  const [createdAt, updatedAt] = [isoTime(state.createdAt), isoTime(state.updatedAt)];
  await store.sessions.restore(id, { createdAt, updatedAt, endReason: ours.endReason });
}

/** The blocks and entries of a scope, which is no session. */
async function exportScope(store: Store, id: string) {
  const metadata = { [OURS]: await readMemory(store, id) };
  return { id, messages: [], usage: { input_tokens: 0, output_tokens: 0 }, metadata };
}

/** True for a state that tells nothing: of a session without messages, or of a scope without blocks and entries. */
export function isEmpty({ metadata }: Pick<SessionState, "metadata">): boolean {
  return Object.keys((metadata?.[OURS] ?? {}) as Snapshot).length === 0;
}

// The numbers in it are those of a store's rows; calls are known by their ids as well, which hold everywhere.
async function readSkills(store: Store, id: string): Promise<Pick<Snapshot, "skills">> {
  const { loaded, unloaded } = await store.session(id).skills();
  if (loaded.length === 0 && unloaded.length === 0) return {};
  return { skills: { loaded, unloaded: unloaded.map((skill) => ({ ...skill, through: 0 })) } };
}

// An empty text is one: the unnamed session has it as its id.
function textField<Key extends string>(key: Key, text: string | null | undefined): { [K in Key]?: string } {
  return typeof text === "string" ? ({ [key]: text } as { [K in Key]?: string }) : {};
}

function nonEmpty(key: keyof Snapshot, list: readonly unknown[]): Snapshot {
  return list.length === 0 ? {} : { [key]: list };
}

/** A session beyond the documented state. A field without content is missing. */
interface Snapshot extends MemorySnapshot {
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
  skills?: SkillState;
  /** The usage by day and model. */
  usage?: UsageRow[];
}

/** The tree of a state, with what a snapshot tells of it. */
function treeIn({ messages = [], updatedAt }: SessionState, ours: Snapshot): ImportedTree {
  const dated = new Set(ours.dated);
  const all = fromSDKMessages([...messages]).concat(fromSDKMessages(ours.offBranch ?? []));
  const stored = new Map(all.map((message) => [message.id, dated.has(message.id) ? withDate(message) : message]));
  if (stored.size < all.length) throw new TypeError("Two messages have the same id.");
  const order =
    ours.tree ?? [...stored.keys()].map((id, index, ids): [string, string | null] => [id, ids[index - 1] ?? null]);
  return {
    messages: order.flatMap(([id, parentId], index) => {
      const message = stored.get(id);
      // A message's own time may lie in the future; it was stored before the session last changed.
      const storedAt = isoTime(Math.min(ours.times?.[index] ?? updatedAt, updatedAt));
      return message === undefined ? [] : [{ message, parentId, storedAt }];
    }),
    compactions: ours.compactions ?? [],
    activeLeafId: ours.leaf === undefined ? order.at(-1)?.[0] : ours.leaf,
  };
}

function withDate(message: SessionMessage): SessionMessage {
  return message.createdAt === undefined ? message : { ...message, createdAt: new Date(message.createdAt) };
}

const isoTime = (milliseconds: number) => new Date(milliseconds).toISOString();

/** From so many messages that are not converted yet on, all are read at once. */
const MANY = 4;

export interface ConvertedMessage {
  readonly sdk: readonly SDKMessage[];
  /** Its `createdAt` was given as a `Date`. */
  readonly dated: boolean;
}

/** Converts the messages of a session that are not in `converted`, and adds them. */
async function convertMissing(
  session: SessionStore,
  tree: readonly TreeNode[],
  converted: Map<string, ConvertedMessage>,
): Promise<void> {
  const missing = tree.filter(({ id }) => !converted.has(id));
  // After a session was loaded nothing is converted yet: then all of it is read at once.
  if (missing.length > MANY) {
    for await (const { message } of session.messages()) {
      if (!converted.has(message.id)) converted.set(message.id, convert(message));
    }
  }
  for (const { id } of missing) {
    if (converted.has(id)) continue;
    const message = await session.message(id);
    if (message !== null) converted.set(id, convert(message));
  }
}

function convert(message: SessionMessage): ConvertedMessage {
  if (!(message.createdAt instanceof Date)) return { sdk: toSDKMessages([message]), dated: false };
  return { sdk: toSDKMessages([{ ...message, createdAt: message.createdAt.toISOString() }]), dated: true };
}

/** The memory of a session, or of a scope, beside messages. A field without content is missing. */
interface MemorySnapshot {
  blocks?: { kind: BlockKey["kind"]; label: string; content: string; version: number; updatedAt?: string }[];
  entries?: (StoredEntry & {
    label: string;
    createdAt?: string;
    updatedAt?: string;
    ends?: readonly EntryEnd[];
  })[];
  /** Of the block `label`, or of its entry `key`, the newest first. */
  versions?: { label: string; key?: string; kept: StoredVersion[] }[];
  /** Their bytes as base64. */
  records?: { label: string; key: string; value: string; version: number; expiresAt: number | null }[];
}

/** Removes the blocks and entries of a scope, which is no session. */
export async function removeScope(store: Store, id: string): Promise<void> {
  const { blocks, entries, versions } = await readMemory(store, id);
  for (const { kind, label } of blocks ?? []) await store.blocks.delete({ sessionId: id, kind, label });
  for (const { label, key } of [...(entries ?? []), ...(versions ?? [])]) {
    if (key !== undefined) await store.entries.delete({ sessionId: id, label }, key, { keepVersions: 0 });
  }
}

/** Reads what `store` keeps beside the messages of a session. */
async function readMemory(store: Store, id: string): Promise<MemorySnapshot> {
  const found = { blocks: [], entries: [], versions: [], records: [] } as Required<MemorySnapshot>;
  const extras = extrasKey(id);
  for await (const item of readKept(store, { sessionId: id })) {
    if (item.kind === "prompt") found.blocks.push({ kind: "prompt", label: "", ...item.block });
    if (item.kind === "block") {
      // What it says stands in the state itself.
      if (item.block.label === extras.label) continue;
      found.blocks.push({ kind: "block", ...item.block });
      addVersions(found.versions, { label: item.block.label }, item.versions);
    }
    if (item.kind === "entry") {
      found.entries.push({ label: item.label, ...item.entry });
      addVersions(found.versions, { label: item.label, key: item.entry.key }, item.versions);
    }
    if (item.kind === "removed") addVersions(found.versions, { label: item.label, key: item.key }, item.versions);
    if (item.kind === "record") {
      const { value, ...record } = item.record;
      found.records.push({ label: item.label, ...record, value: toBase64(value) });
    }
  }
  return Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0));
}

// What is only the present one, of which nothing is known, is told with the block itself.
function addVersions(
  list: Required<MemorySnapshot>["versions"],
  name: { label: string; key?: string },
  all: readonly StoredVersion[],
) {
  const kept = all.filter(({ author, content }, index) => index > 0 || author !== null || content === null);
  if (kept.length > 0) list.push({ ...name, kept });
}

/** Writes it into a store that does not have it yet. */
async function writeMemory(store: Store, id: string, ours: MemorySnapshot): Promise<void> {
  for (const { kind, label, content, version, updatedAt } of ours.blocks ?? []) {
    await store.blocks.set({ sessionId: id, kind, label }, content, { version, updatedAt, keepVersions: 0 });
  }
  for (const { label, createdAt, updatedAt, ends, ...entry } of ours.entries ?? []) {
    await store.entries.set({ sessionId: id, label }, entry, { keepVersions: 0, createdAt, updatedAt, ends });
  }
  for (const { label, key, kept } of ours.versions ?? []) {
    if (key === undefined) await store.blocks.importVersions({ sessionId: id, kind: "block", label }, kept);
    else await store.entries.importVersions({ sessionId: id, label }, key, kept);
  }
  for (const { label, key, value, version, expiresAt } of ours.records ?? []) {
    const options = { version, expiresAt: expiresAt ?? undefined };
    await store.records.set({ sessionId: id, label }, key, fromBase64(value), options);
  }
}
