import { confining } from "../../../storage/confine.js";
import type { BlockScope, KeptWrite, MessageWrite, Store } from "../../../storage/contract.js";
import { refuseBackup } from "../../../storage/refuse-backup.js";
import type { SessionStorage } from "../../types.js";
import { MemorySessionStorage } from "../memory-storage.js";
import { heldSession } from "./held-session.js";
import { HeldSessions } from "./held-sessions.js";
import { registryOf } from "./registry.js";
import { ScopedStates } from "./scoped-states.js";

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
  const { memory } = await import("../../../memory.js");
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
      writeTogether: (writes) =>
        states.writeAll(writes.map(keyOf), async () => {
          const written = await own.writeTogether(writes);
          for (const write of writes) if ("session" in write) noteChange(held, write);
          return written;
        }),
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
  return {
    count: (scope) => states.read(scope, () => entries.count(scope)),
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
  };
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
