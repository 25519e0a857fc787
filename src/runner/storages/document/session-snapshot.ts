import type { Store } from "../../../storage/contract.js";
import { isScope } from "../../../storage/session-id.js";
import { totalInput } from "../../models/usage.js";
import { OURS, SessionRecord } from "../../session-record.js";
import type { SessionState } from "../../types.js";
import { type ConvertedMessage, convertMissing } from "./converted-messages.js";
import { readMemory, writeMemory } from "./memory-snapshot.js";
import { isoTime, type Snapshot, treeIn } from "./snapshot.js";

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
    ...told("model", info?.model),
    ...told("source", info?.source),
    ...told("userId", info?.user_id),
    ...(info !== null && Object.hasOwn(info.metadata, OURS) ? { fields: { [OURS]: info.metadata[OURS] } } : {}),
    ...told("endReason", info?.end_reason),
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
  return { ...state, ...told("parentId", info?.parent_session_id) };
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
function told<Key extends string>(key: Key, text: string | null | undefined): { [K in Key]?: string } {
  return typeof text === "string" ? ({ [key]: text } as { [K in Key]?: string }) : {};
}

function nonEmpty(key: keyof Snapshot, list: readonly unknown[]): Snapshot {
  return list.length === 0 ? {} : { [key]: list };
}
