import {
  assertEncodable,
  isSummaryMessage,
  Recent,
  type SessionMessage,
  StemmaError,
  SUMMARY_ID_PREFIX,
  sameJson,
} from "@stemma/model";
import type { Store } from "@stemma/store";
import { assertStore } from "@stemma/store";
import { fromSDKMessages, toSDKMessages } from "../messages/sdk-message.js";
import { NO_USAGE, totalInput } from "../models/model.js";
import type { StoreBackedStorage } from "../open-store.js";
import { OURS, SessionRecord } from "../session-record.js";
import type { ExtendedUsageInfo, SDKMessage, SessionState } from "../types.js";
import { importSession } from "./document/session-snapshot.js";
import { conflict, corruptState } from "./storage-versions.js";

/** How many sessions that were not there are remembered. */
const MAX_ABSENT = 10_000;

/**
 * A store with the four methods of a storage. `save` writes only what is new: it appends new messages, updates changed ones,
 * and makes a branch where the conversation took another course. The first save of a session stores its times and parent too,
 * which later ones do not change, and the branches, summaries and blocks of a state from another storage. If another program made the
 * session since a `load` here found nothing, a first save whose messages have ids of stored ones, but say something else, fails with
 * `SESSION_CONFLICT`.
 */
export class StoreSessionStorage implements StoreBackedStorage {
  readonly #open: () => Promise<Store>;
  #store: Promise<Store> | null = null;
  /** Sessions that were loaded here and not there: what someone else stores in them from now on is not to be overwritten. */
  readonly #absent = new Recent<true>(MAX_ABSENT);

  /** Takes a store, or a function that opens one at the first use. Errors: `STORE_UNSUPPORTED`. */
  constructor(store: Store | (() => Promise<Store>)) {
    if (typeof store !== "function") assertStore(store, "A StoreSessionStorage");
    this.#open = typeof store === "function" ? store : async () => store;
  }

  /** The store, which the runner's sessions use directly. Errors: those of opening it. */
  openStore(): Promise<Store> {
    this.#store ??= this.#open().catch((error: unknown) => {
      this.#store = null;
      throw error;
    });
    return this.#store;
  }

  /** Errors: `INVALID_MESSAGE`, `SESSION_CONFLICT`, and those of the store. */
  async save(state: SessionState): Promise<void> {
    const store = await this.openStore();
    const { id } = state;
    const isNew = (await store.sessions.get(id)) === null;
    if (isNew && (await takeOver(store, state))) {
      this.#absent.delete(id);
      return;
    }
    const isFirst = isNew || this.#absent.get(id) !== undefined;
    const { [OURS]: _snapshot, ...metadata } = state.metadata ?? {};
    const work = () => saveMessages(store, id, state.messages, isFirst);
    // What was stored meanwhile may be the same.
    await work().catch((error: unknown) =>
      StemmaError.isInstance(error, "SESSION_CONFLICT") ? work() : Promise.reject(error),
    );
    this.#absent.delete(id);
    const record = await SessionRecord.open(store, id);
    await saveUsage(store, id, record.usage, state.usage ?? NO_USAGE);
    await record.setCounts(state.usage ?? NO_USAGE);
    await record.setMetadata(metadata);
  }

  /** A session's state; undefined when it is not stored. Errors: `CORRUPT_MESSAGE`, and those of the store. */
  async load(sessionId: string): Promise<SessionState | undefined> {
    const store = await this.openStore();
    if ((await store.sessions.get(sessionId)) === null) {
      this.#absent.set(sessionId, true);
      return undefined;
    }
    this.#absent.delete(sessionId);
    const record = await SessionRecord.open(store, sessionId);
    return record.stateWith(toSDKMessages(await originalsOf(store, sessionId)));
  }

  /** Deletes a session; an unknown id does nothing. Errors: those of the store. */
  async delete(sessionId: string): Promise<void> {
    const store = await this.openStore();
    await store.sessions.delete(sessionId);
  }

  /** The ids of the stored sessions. Errors: those of the store. */
  async list(): Promise<string[]> {
    const store = await this.openStore();
    const { sessions } = await store.sessions.list({});
    return sessions.map(({ id }) => id);
  }

  /** Closes the store, if it was opened. Errors: those of the store. */
  async close(): Promise<void> {
    await (await this.#store)?.close();
  }
}

async function originalsOf(store: Store, id: string): Promise<SessionMessage[]> {
  return (await store.session(id).path({ summaries: false })).messages;
}

/** False where messages of it are there already. Errors: `INVALID_MESSAGE`, `CORRUPT_STATE`: then nothing of it is there. After those of the store the next save completes it. */
async function takeOver(store: Store, state: SessionState): Promise<boolean> {
  const { id } = state;
  const now = Date.now();
  const { createdAt = now, updatedAt = now } = state;
  const messages = newMessages(state.messages);
  const isOfAnotherStorage = state.metadata?.[OURS] !== undefined;
  if (!isOfAnotherStorage) for (const message of fromSDKMessages(messages)) assertEncodable(message);
  try {
    await importSession(store, id, { ...state, messages, createdAt, updatedAt }, true);
  } catch (cause) {
    // Another process may have saved the session meanwhile.
    if (StemmaError.isInstance(cause, "SESSION_CONFLICT")) return false;
    if (!isOfAnotherStorage) throw cause;
    await store.sessions.delete(id);
    throw corruptState(id, cause);
  }
  return true;
}

/** Without summaries, and without what has the id of a message before it: an append would pass over these. */
function newMessages<T extends { readonly id?: string | undefined }>(messages: readonly T[]): T[] {
  const known = new Set<string>();
  return messages.filter(({ id }) => {
    if (id === undefined) return true;
    return !id.startsWith(SUMMARY_ID_PREFIX) && known.size < known.add(id).size;
  });
}

/** Where it is the first save of what was loaded as absent, what is stored is someone else's. Errors: `SESSION_CONFLICT`. */
async function saveMessages(store: Store, id: string, sent: readonly SDKMessage[], isFirst: boolean): Promise<void> {
  const session = store.session(id);
  const stored = await originalsOf(store, id);
  if (sent.length === 0) {
    if (stored.length > 0 && !isFirst) await session.clear();
    return;
  }
  const fresh = fromSDKMessages(sent)
    .filter((message) => !isSummaryMessage(message))
    .map((message) => store.redaction?.message(message, id) ?? message);
  const others = new Map(isFirst ? stored.map((message) => [message.id, message]) : []);
  for (const message of newMessages(fresh)) {
    const other = others.get(message.id);
    if (other !== undefined && !sameJson(other, message)) throw conflict(id);
  }
  let shared = 0;
  for (const [index, message] of fresh.entries()) {
    const known = stored[index];
    if (known === undefined) break;
    if (known.id === message.id) {
      if (!sameJson(known, message)) await session.update(message);
    } else if (!sameJson({ ...known, id: "" }, { ...message, id: "" })) break;
    shared = index + 1;
  }
  const parent = stored[shared - 1]?.id ?? null;
  const added = fresh.slice(shared);
  if (added.length > 0 && isFirst) {
    // All or nothing: others may store some of them meanwhile.
    const messages = newMessages(added).map((message, index, all) => ({
      message,
      parentId: all[index - 1]?.id ?? parent,
    }));
    await session.importTree({ messages, onlyNew: true });
  } else if (added.length > 0) await session.append(added, parent);
  else if (stored.length > shared && parent !== null) await session.setActiveLeaf(parent);
}

async function saveUsage(
  { sessions }: Store,
  id: string,
  before: ExtendedUsageInfo,
  usage: ExtendedUsageInfo,
): Promise<void> {
  const input = totalInput(usage) - totalInput(before);
  const output = usage.output_tokens - before.output_tokens;
  const cost = (usage.total_cost_usd ?? 0) - (before.total_cost_usd ?? 0);
  if (input !== 0 || output !== 0 || cost !== 0)
    await sessions.importUsage(id, { inputTokens: input, outputTokens: output, cost });
}
