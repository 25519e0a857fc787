import type { SessionMessage } from "@stemma/model";
import type { BlockScope, KeptWrite, MessageWrite, SessionStore, Store } from "@stemma/store";
import { checkedEntries, confining, consolidate, keyScope, refuseBackup, userScope, valuesIn } from "@stemma/store";
import type { SessionStorage } from "../../types.js";
import { MemorySessionStorage } from "../memory-storage.js";
import { HeldSessions } from "./held-sessions.js";
import { registryOf } from "./registry.js";
/** A store on a four-method storage. */
export interface DocumentStore extends Store {
  /** Forgets what is in memory of a session, so that its next use reads it from the storage. */
  reload(sessionId: string): Promise<void>;
  /** Keeps a session in memory until it was released as often. */
  retain(sessionId: string): void;
  /** Gives the memory of a session back once nobody has it open any more. */
  release(sessionId: string): Promise<void>;
}

const stores = new WeakMap<SessionStorage, Promise<DocumentStore>>();

/**
 * A store on a storage that loads and saves whole states; the same for the same storage. A session is held in memory once
 * it is used. Each write saves the whole session: for long ones a store of its own is the better choice.
 */
export function documentStore(storage: SessionStorage): Promise<DocumentStore> {
  const known = stores.get(storage) ?? makeStore(storage);
  stores.set(storage, known);
  return known;
}

async function makeStore(storage: SessionStorage): Promise<DocumentStore> {
  const { memory } = await import("@stemma/store/memory");
  const inner = memory();
  const held = new HeldSessions(storage, inner);
  const close = async (): Promise<void> => {
    held.memory.close();
    stores.delete(storage);
    await inner.close();
  };
  const durable = !(storage instanceof MemorySessionStorage);
  const storeOf = (userId?: string): DocumentStore => {
    const own = userId === undefined ? inner : inner.forUser(userId);
    const states = new ScopedStates(held, inner, userId);
    return {
      name: "storage",
      userId,
      whole: userId === undefined ? undefined : store,
      forUser: confining(userId, storeOf),
      capabilities: { search: true, embeddings: false, check: false, transactions: true, durable },
      session: (id) => heldSession(held, own.session(id)),
      search: (query, request) => {
        const search = () => own.search(query, request);
        return request.sessionId === undefined ? held.readAll(search) : held.read(request.sessionId, search);
      },
      sessions: registryOf(held, own),
      blocks: blocksOf(states, held, own),
      entries: entriesOf(states, own),
      records: recordsOf(held, own),
      deleteMemory: (scope) => states.write(scope, () => own.deleteMemory(scope)),
      pruneVersions: (scope, request) => states.write(scope, () => own.pruneVersions(scope, request)),
      pruneExpired: (scope, request) => states.write(scope, () => own.pruneExpired(scope, request)),
      writeTogether: (writes) =>
        states.writeAll(writes.map(keyOf), async () => {
          const written = await own.writeTogether(writes);
          for (const write of writes) if ("session" in write) noteChange(held, write);
          return written;
        }),
      consolidate,
      backup: refuseBackup("storage"),
      order: held.order,
      reload: (id) => held.reload(id),
      retain: (id) => held.memory.retain(id),
      release: (id) => held.memory.release(id),
      migrate: async () => held.memory.assertOpen(),
      close,
    };
  };
  const store = storeOf();
  return store;
}

function blocksOf(states: ScopedStates, held: HeldSessions, { blocks }: Store): Store["blocks"] {
  return {
    get: (key) => states.read(key, () => blocks.get(key)),
    set: (key, content, options) => states.write(key, () => blocks.set(key, content, options)),
    append: (key, text, options) => states.write(key, () => blocks.append(key, text, options)),
    delete: (key) => states.write(key, () => blocks.delete(key)),
    versions: (key) => states.read(key, () => blocks.versions(key)),
    list: (scope) => states.read(scope, () => blocks.list(scope)),
    owners: (kind, options) => held.readAll(() => blocks.owners(kind, options)),
    importVersions: (key, versions) => states.write(key, () => blocks.importVersions(key, versions)),
  };
}

function entriesOf(states: ScopedStates, { entries }: Store): Store["entries"] {
  return checkedEntries({
    count: (scope, view) => states.read(scope, () => entries.count(scope, view)),
    get: (scope, key) => states.read(scope, () => entries.get(scope, key)),
    set: (scope, entry, options) => states.write(scope, () => entries.set(scope, entry, options)),
    append: (scope, entry, options) => states.write(scope, () => entries.append(scope, entry, options)),
    delete: (scope, key, options) => states.write(scope, () => entries.delete(scope, key, options)),
    versions: (scope, key) => states.read(scope, () => entries.versions(scope, key)),
    labels: (scope) => states.read(scope, () => entries.labels(scope)),
    removed: (scope) => states.read(scope, () => entries.removed(scope)),
    list: (scope, options) => states.read(scope, () => entries.list(scope, options)),
    importVersions: (scope, key, versions) => states.write(scope, () => entries.importVersions(scope, key, versions)),
    search: (scope, query, options) => states.read(scope, () => entries.search(scope, query, options)),
  });
}

function recordsOf(held: HeldSessions, { records }: Store): Store["records"] {
  return {
    get: (scope, key) => held.read(scope.sessionId, () => records.get(scope, key)),
    set: (scope, key, value, options) => held.write([scope.sessionId], () => records.set(scope, key, value, options)),
    delete: (scope, key, options) => held.write([scope.sessionId], () => records.delete(scope, key, options)),
    list: (scope, options) => held.read(scope.sessionId, () => records.list(scope, options)),
    expire: (scope, prefix, after) => held.write([scope.sessionId], async () => records.expire?.(scope, prefix, after)),
    labels: (sessionId) => held.read(sessionId, () => records.labels(sessionId)),
  };
}

function noteChange(held: HeldSessions, write: MessageWrite): void {
  if ("clear" in write) held.removed(write.session, null);
  if ("update" in write) held.rewritten(write.session, write.update.id);
  if ("upsert" in write) held.rewritten(write.session, write.upsert.id);
}

function keyOf(write: KeptWrite): { sessionId: string; scope?: BlockScope | undefined } {
  if ("session" in write) return { sessionId: write.session };
  if ("registered" in write) return { sessionId: write.registered };
  return "block" in write ? write.block : "entries" in write ? write.entries : write.records;
}

interface Place {
  readonly sessionId: string;
  readonly scope?: BlockScope | undefined;
}

/** Where blocks and entries are kept: with their session, or in a state of their own for a user or a key. */
class ScopedStates {
  constructor(
    private readonly held: HeldSessions,
    private readonly inner: Store,
    private readonly userId: string | undefined,
  ) {}

  /** Runs a call that reads what is kept under `key`, with all in memory that it needs. */
  async read<T>(key: Place, call: () => Promise<T>): Promise<T> {
    const { held } = this;
    if (isOwn(key)) return held.read(key.sessionId, call);
    const state = await this.#stateOf(key);
    return held.write([], call, [state, ...sessionOf(key)]);
  }

  write<T>(key: Place, call: () => Promise<T>): Promise<T> {
    return this.writeAll([key], call);
  }

  writeAll<T>(keys: readonly Place[], call: () => Promise<T>): Promise<T> {
    // In its turn from the call on.
    if (keys.every(isOwn)) return this.held.write(unique(keys.map(({ sessionId }) => sessionId)), call);
    return this.#writeIn(Promise.all(keys.map((key) => (isOwn(key) ? key.sessionId : this.#stateOf(key)))), keys, call);
  }

  async #writeIn<T>(states: Promise<string[]>, keys: readonly Place[], call: () => Promise<T>): Promise<T> {
    return this.held.write(unique(await states), call, keys.flatMap(sessionOf));
  }

  async #stateOf({ sessionId, scope }: Place): Promise<string> {
    if (typeof scope === "object") return keyScope(scope.key);
    const info = () => this.inner.sessions.get(sessionId);
    const user = this.userId ?? (await this.held.read(sessionId, info))?.user_id;
    // Without a user the call is refused, wherever it looks.
    return user == null ? sessionId : userScope(user);
  }
}

const isOwn = ({ scope = "session" }: Place) => scope === "session";

const sessionOf = ({ sessionId }: Place) => (sessionId === "" ? [] : [sessionId]);

const unique = (ids: readonly string[]) => [...new Set(ids)];

/** A session that is held in memory: it is loaded before it is read, and saved after each write. */
function heldSession(held: HeldSessions, session: SessionStore): SessionStore {
  const { id } = session;
  const reading = <Name extends keyof SessionStore>(...names: readonly Name[]) =>
    methodsOf(session, names, (call) => held.read(id, call));
  const writing = <Name extends keyof SessionStore>(...names: readonly Name[]) =>
    methodsOf(session, names, (call) => held.write([id], call));
  const rewritten = (message: SessionMessage) => held.rewritten(id, message.id);
  // From the call on: its first page is read then, in the order of the calls.
  const streamed = <T>(open: () => AsyncIterable<T>): AsyncIterable<T> => {
    held.memory.retain(id);
    return valuesIn(
      held.read(id, async () => open()),
      async () => held.memory.rest(id),
    );
  };
  return {
    id,
    ...writing("append", "appendSibling", "importTree", "setActiveLeaf", "rewindTo", "selectBranch"),
    ...writing("addCompaction", "removeCompaction", "changeSkills"),
    update: (message) =>
      held.write([id], async () => {
        await session.update(message);
        rewritten(message);
      }),
    upsert: (message, parent, options) =>
      held.write([id], async () => {
        const result = await session.upsert(message, parent, options);
        rewritten(message);
        return result;
      }),
    delete: (ids) =>
      held.write([id], async () => {
        const removed = await session.delete(ids);
        held.removed(id, removed);
        return removed;
      }),
    clear: () =>
      held.write([id], async () => {
        const wasFrozen = await session.clear();
        held.removed(id, null);
        return wasFrozen;
      }),
    ...reading(
      "message",
      "leaf",
      "branches",
      "branchIds",
      "parent",
      "siblings",
      "siblingIds",
      "path",
      "recent",
      "search",
    ),
    ...reading("rowStats", "length", "count", "tokens", "tree", "treePage"),
    ...reading("compactions", "originals", "skills", "change", "writes"),
    stream: (options) => streamed(() => session.stream(options)),
    messages: () => streamed(() => session.messages()),
  };
}

type Method = (...values: unknown[]) => Promise<unknown>;

/** The methods of a session that have these names; `order` says when each call is made. */
function methodsOf<Name extends keyof SessionStore>(
  session: SessionStore,
  names: readonly Name[],
  order: (call: () => Promise<unknown>) => Promise<unknown>,
): Pick<SessionStore, Name> {
  const methods = names.map((name) => {
    const method = (...values: unknown[]) => order(() => (session[name] as Method)(...values));
    return [name, method];
  });
  return Object.fromEntries(methods);
}
