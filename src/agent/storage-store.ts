import { StemmaError } from "../errors.js";
import type { BlockKey, EntryScope, SessionInfo, Store } from "../storage/contract.js";
import { endReasonOf, exportSession, importSession } from "./session-snapshot.js";
import type { SessionState, SessionStorage } from "./types.js";

/** A store on a four-method storage. */
export interface StorageStore extends Store {
  /** Forgets what is in memory of a session, so that its next use reads it from the storage. */
  reload(sessionId: string): Promise<void>;
}

/** A session as it is held in memory: its content lies in the inner store, this is the rest. */
interface Held {
  /** What was last loaded or saved. Storages may have put fields of their own into it. */
  state: SessionState | null;
  keys: { blocks: Map<string, Pick<BlockKey, "kind" | "label">>; entries: Map<string, { label: string; key: string }> };
  createdAt: number;
  updatedAt: number;
  endReason: string | null;
}

// Under this id the unnamed session (and with it what sessions share) lies in a storage.
const UNNAMED = "unnamed";

const stores = new WeakMap<SessionStorage, Promise<StorageStore>>();

/**
 * A store on a storage that loads and saves whole states; the same for the same storage. A session is held in memory once
 * it is used; every write is saved before it resolves, and one whose save fails has not happened. Each save writes the
 * whole session: for long ones a store of its own is the better choice.
 */
export function storageStore(storage: SessionStorage): Promise<StorageStore> {
  const known = stores.get(storage) ?? makeStore(storage);
  stores.set(storage, known);
  return known;
}

async function makeStore(storage: SessionStorage): Promise<StorageStore> {
  const { memory } = await import("../memory.js");
  const inner = memory();
  const held = new Map<string, Held>();
  const queues = new Map<string, Promise<unknown>>();
  let closed = false;

  /** One call after the other for each session, as a call may load and save it. */
  function exclusive<T>(ids: readonly string[], work: () => Promise<T>): Promise<T> {
    const before = Promise.all(ids.map((id) => queues.get(id)));
    const done = before.then(work, work);
    const settled = done.then(
      () => {},
      () => {},
    );
    for (const id of ids) queues.set(id, settled);
    return done;
  }

  async function load(id: string): Promise<Held | null> {
    if (closed) throw new StemmaError("STORE_CLOSED", {}, "This store was closed; open a new one.");
    const known = held.get(id);
    if (known !== undefined) return known;
    const state = await storage.load(keyOf(id));
    if (!state) return null;
    const { blocks, entries } = await importSession(inner, id, state);
    const { createdAt, updatedAt } = state;
    const keys = { blocks: new Map(blocks), entries: new Map(entries) };
    const session = { state, keys, createdAt, updatedAt, endReason: endReasonOf(state) };
    held.set(id, session);
    return session;
  }

  async function save(id: string): Promise<void> {
    const now = Date.now();
    const session = held.get(id) ?? emptyHeld(now);
    const { createdAt, state, keys } = session;
    const info = await inner.sessions.get(id);
    const updatedAt = Math.max(now, session.updatedAt);
    const exported = await exportSession(inner, id, keys, info?.end_reason ?? session.endReason);
    const next = { ...state, ...exported, id: keyOf(id), createdAt, updatedAt };
    await storage.save(next);
    held.set(id, { ...session, state: next, updatedAt });
  }

  async function forget(id: string): Promise<void> {
    held.delete(id);
    await inner.sessions.delete(id);
  }

  function read<T>(id: string, call: () => Promise<T>): Promise<T> {
    return exclusive([id], async () => {
      await load(id);
      return call();
    });
  }

  /** `written` are the sessions that the call changes; `used` those that it reads beside them. */
  function write<T>(written: readonly string[], call: () => Promise<T>, used: readonly string[] = []): Promise<T> {
    return exclusive([...written, ...used], async () => {
      for (const id of [...written, ...used]) await load(id);
      const result = await call();
      try {
        for (const id of written) await save(id);
        return result;
      } catch (error) {
        // As the storage has it, so it is.
        for (const id of written) await forget(id);
        throw error;
      }
    });
  }

  async function loadAll(): Promise<void> {
    for (const key of await storage.list()) await read(idOf(key), async () => {});
  }

  const note = (key: BlockKey) => heldOf(key.sessionId).keys.blocks.set(JSON.stringify([key.kind, key.label]), key);
  const noteEntry = (scope: EntryScope, key: string) =>
    heldOf(scope.sessionId).keys.entries.set(JSON.stringify([scope.label, key]), { label: scope.label, key });
  const heldOf = (id: string): Held => {
    const session = held.get(id) ?? emptyHeld(Date.now());
    held.set(id, session);
    return session;
  };
  const copyKeys = (from: string, to: string) => {
    const { blocks, entries } = heldOf(from).keys;
    held.set(to, { ...heldOf(to), keys: { blocks: new Map(blocks), entries: new Map(entries) } });
  };
  // The inner store takes the time of loading for the time of writing.
  const infoOf = (info: SessionInfo): SessionInfo => {
    const session = held.get(info.id);
    if (session === undefined) return info;
    const [created_at, updated_at] = [session.createdAt, session.updatedAt].map((time) => new Date(time).toISOString());
    return { ...info, created_at, updated_at, end_reason: info.end_reason ?? session.endReason } as SessionInfo;
  };

  const { messages, history, compactions, sessions, blocks, entries } = inner;
  return {
    name: "storage",
    capabilities: { search: true, transactions: true, durable: true },
    messages: {
      append: (id, list, parent) => write([id], () => messages.append(id, list, parent)),
      update: (id, message) => write([id], () => messages.update(id, message)),
      upsert: (id, message, parent) => write([id], () => messages.upsert(id, message, parent)),
      delete: (id, ids) => write([id], () => messages.delete(id, ids)),
      clear: (id) => write([id], () => messages.clear(id)),
      importTree: (id, tree) => write([id], () => messages.importTree(id, tree)),
      setActiveLeaf: (id, messageId) => write([id], () => messages.setActiveLeaf(id, messageId)),
    },
    history: {
      message: (id, messageId) => read(id, () => history.message(id, messageId)),
      leaf: (id) => read(id, () => history.leaf(id)),
      children: (id, messageId) => read(id, () => history.children(id, messageId)),
      path: (id, options) => read(id, () => history.path(id, options)),
      async *stream(id, options) {
        await read(id, async () => {});
        yield* history.stream(id, options);
      },
      recent: (id, maxBytes, options) => read(id, () => history.recent(id, maxBytes, options)),
      length: (id, leafId) => read(id, () => history.length(id, leafId)),
      tokens: (id, leafId) => read(id, () => history.tokens(id, leafId)),
      tree: (id) => read(id, () => history.tree(id)),
      async search(query, options) {
        if (options.sessionId === undefined) await loadAll();
        else await read(options.sessionId, async () => {});
        return history.search(query, options);
      },
    },
    compactions: {
      add: (id, overlay, guard) => write([id], () => compactions.add(id, overlay, guard)),
      list: (id) => read(id, () => compactions.list(id)),
      originals: (id, compactionId) => read(id, () => compactions.originals(id, compactionId)),
    },
    sessions: {
      create: (session) => write([session.id], () => sessions.create(session)).then(infoOf),
      get: (id) =>
        read(id, async () => {
          const info = await sessions.get(id);
          return info === null ? null : infoOf(info);
        }),
      async list({ limit, cursor }) {
        await loadAll();
        const { sessions: all } = await sessions.list({});
        const sorted = all.map(infoOf).sort((a, b) => compare(b, a));
        const start = cursor === undefined ? 0 : sorted.findIndex((info) => positionOf(info) === cursor) + 1;
        const page = sorted.slice(start, limit === undefined ? undefined : start + limit);
        const last = page.at(-1);
        const more = last !== undefined && start + page.length < sorted.length;
        return { sessions: page, nextCursor: more ? positionOf(last) : null };
      },
      async count() {
        await loadAll();
        return sessions.count();
      },
      rename: (id, name) => write([id], () => sessions.rename(id, name)),
      delete: (id) =>
        exclusive([id], async () => {
          await storage.delete(keyOf(id));
          await forget(id);
        }),
      addUsage: (id, input, output, cost) => write([id], () => sessions.addUsage(id, input, output, cost)),
      fork: (id, atMessageId, next) =>
        write([next.id], async () => {
          const info = await sessions.fork(id, atMessageId, next);
          copyKeys(id, next.id);
          return info;
        }, [id]).then(infoOf),
      split: (id, first, next) =>
        write([next.id, id], async () => {
          const info = await sessions.split(id, first, next);
          copyKeys(id, next.id);
          return info;
        }).then(infoOf),
      updateSkills: (id, change) => write([id], () => sessions.updateSkills(id, change)),
      skills: (id) => read(id, () => sessions.skills(id)),
    },
    blocks: {
      get: (key) => read(key.sessionId, () => blocks.get(key)),
      set: (key, content, options) =>
        write([key.sessionId], async () => {
          const block = await blocks.set(key, content, options);
          note(key);
          return block;
        }),
      append: (key, text, options) =>
        write([key.sessionId], async () => {
          const block = await blocks.append(key, text, options);
          note(key);
          return block;
        }),
      delete: (key) => write([key.sessionId], () => blocks.delete(key)),
    },
    entries: {
      count: (scope) => read(scope.sessionId, () => entries.count(scope)),
      get: (scope, key) => read(scope.sessionId, () => entries.get(scope, key)),
      set: (scope, entry) =>
        write([scope.sessionId], async () => {
          await entries.set(scope, entry);
          noteEntry(scope, entry.key);
        }),
      append: (scope, entry, options) =>
        write([scope.sessionId], async () => {
          const stored = await entries.append(scope, entry, options);
          noteEntry(scope, entry.key);
          return stored;
        }),
      delete: (scope, key) => write([scope.sessionId], () => entries.delete(scope, key)),
      search: (scope, query, options) => read(scope.sessionId, () => entries.search(scope, query, options)),
    },
    reload: (id) => exclusive([id], () => forget(id)),
    migrate: async () => {},
    close: async () => {
      closed = true;
      stores.delete(storage);
      await inner.close();
    },
  };
}

function emptyHeld(now: number): Held {
  const keys = { blocks: new Map(), entries: new Map() };
  return { state: null, keys, createdAt: now, updatedAt: now, endReason: null };
}

function keyOf(sessionId: string): string {
  return sessionId === "" ? UNNAMED : sessionId;
}

function idOf(key: string): string {
  return key === UNNAMED ? "" : key;
}

function positionOf(info: SessionInfo): string {
  return JSON.stringify([info.updated_at, info.id]);
}

function compare(a: SessionInfo, b: SessionInfo): number {
  if (a.updated_at !== b.updated_at) return a.updated_at < b.updated_at ? -1 : 1;
  return a.id < b.id ? -1 : 1;
}
