import { StemmaError } from "../../../errors.js";
import type { BlockKey, EntryScope, SessionInfo, Store, StoredBlock } from "../../../storage/contract.js";
import type { SessionStorage } from "../../types.js";
import { MemorySessionStorage } from "../memory-storage.js";
import { heldSession } from "./held-session.js";
import { HeldSessions } from "./held-sessions.js";
import { blockName, entryName } from "./session-snapshot.js";

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
  const { sessions, entries } = inner;
  const read = held.read.bind(held);
  const write = held.write.bind(held);
  return {
    name: "storage",
    capabilities: {
      search: true,
      embeddings: false,
      check: false,
      transactions: true,
      durable: !(storage instanceof MemorySessionStorage),
    },
    session: (id) => heldSession(held, inner.session(id)),
    search: (query, request) => {
      const search = async () => {
        const hits = await inner.search(query, request);
        return hits.map((hit) => ({ ...hit, createdAt: held.timeOf(hit.sessionId, hit.id) ?? hit.createdAt }));
      };
      return request.sessionId === undefined ? held.readAll(search) : read(request.sessionId, search);
    },
    sessions: {
      create: async (session) => held.infoOf(await write([session.id], () => sessions.create(session))),
      get: (id) =>
        read(id, async () => {
          const info = await sessions.get(id);
          return info === null ? null : held.infoOf(info);
        }),
      async list({ limit, cursor }) {
        const after = cursor === undefined ? null : parseCursor(cursor);
        const all = await held.readAll(async () =>
          (await sessions.list({})).sessions.map((info) => held.infoOf(info)).sort(byUpdate),
        );
        const rest = after === null ? all : all.filter((info) => byUpdate(after, info) < 0);
        const page = rest.slice(0, limit);
        const last = page.at(-1);
        const nextCursor = last !== undefined && page.length < rest.length ? cursorOf(last) : null;
        return { sessions: page, nextCursor };
      },
      count: () => held.readAll(() => sessions.count()),
      rename: (id, name) => write([id], () => sessions.rename(id, name)),
      delete: (id) => held.remove(id),
      addUsage: (id, input, output, cost) => write([id], () => sessions.addUsage(id, input, output, cost)),
      fork: async (id, atMessageId, next) => {
        const fork = async () => {
          const info = await sessions.fork(id, atMessageId, next);
          copyKeys(held, id, next.id);
          return info;
        };
        return held.infoOf(await write([next.id], fork, [id]));
      },
      split: async (id, first, next) => {
        const split = async () => {
          const info = await sessions.split(id, first, next);
          copyKeys(held, id, next.id);
          return info;
        };
        // The continuation first: until the last save, the session it continues is as it was.
        return held.infoOf(await write([next.id, id], split));
      },
    },
    blocks: blocksOf(held, inner),
    entries: {
      count: (scope) => read(scope.sessionId, () => entries.count(scope)),
      get: (scope, key) => read(scope.sessionId, () => entries.get(scope, key)),
      set: (scope, entry) =>
        write([scope.sessionId], async () => {
          await entries.set(scope, entry);
          noteEntry(held, scope, entry.key);
        }),
      append: (scope, entry, options) =>
        write([scope.sessionId], async () => {
          const stored = await entries.append(scope, entry, options);
          noteEntry(held, scope, entry.key);
          return stored;
        }),
      delete: (scope, key) => write([scope.sessionId], () => entries.delete(scope, key)),
      search: (scope, query, options) => read(scope.sessionId, () => entries.search(scope, query, options)),
    },
    records: recordsOf(held, inner),
    order: held.order,
    reload: (id) => held.reload(id),
    retain: (id) => held.retain(id),
    release: (id) => held.release(id),
    migrate: async () => held.assertOpen(),
    close: async () => {
      held.close();
      stores.delete(storage);
      await inner.close();
    },
  };
}

// A block that came from the storage goes on counting its versions from there.
function blocksOf(held: HeldSessions, inner: Store): Store["blocks"] {
  const { blocks } = inner;
  const counted = (key: BlockKey, block: StoredBlock) => ({ ...block, version: before(held, key) + block.version });
  return {
    get: (key) =>
      held.read(key.sessionId, async () => {
        const block = await blocks.get(key);
        return block === null ? null : counted(key, block);
      }),
    set: (key, content, { expectedVersion } = {}) =>
      held.write([key.sessionId], async () => {
        const expected = expectedVersion === undefined ? undefined : expectedVersion - before(held, key);
        const block = await blocks.set(key, content, { expectedVersion: expected });
        noteBlock(held, key);
        return counted(key, block);
      }),
    append: (key, text, options) =>
      held.write([key.sessionId], async () => {
        const block = await blocks.append(key, text, options);
        noteBlock(held, key);
        return counted(key, block);
      }),
    delete: (key) =>
      held.write([key.sessionId], async () => {
        await blocks.delete(key);
        held.keys(key.sessionId).blocks.delete(blockName(key));
      }),
  };
}

function recordsOf(held: HeldSessions, { records }: Store): Store["records"] {
  return {
    get: (scope, key) => held.read(scope.sessionId, () => records.get(scope, key)),
    set: (scope, key, value, options) =>
      held.write([scope.sessionId], () => {
        held.keys(scope.sessionId).records.add(scope.label);
        return records.set(scope, key, value, options);
      }),
    delete: (scope, key, options) => held.write([scope.sessionId], () => records.delete(scope, key, options)),
    list: (scope, options) => held.read(scope.sessionId, () => records.list(scope, options)),
  };
}

function before(held: HeldSessions, key: BlockKey): number {
  return held.keys(key.sessionId).blocks.get(blockName(key))?.before ?? 0;
}

function noteBlock(held: HeldSessions, key: BlockKey): void {
  const { kind, label } = key;
  held.keys(key.sessionId).blocks.set(blockName(key), { kind, label, before: before(held, key) });
}

function noteEntry(held: HeldSessions, { sessionId, label }: EntryScope, key: string): void {
  held.keys(sessionId).entries.set(entryName(label, key), { label, key });
}

function copyKeys(held: HeldSessions, from: string, to: string): void {
  const target = held.keys(to);
  for (const [name, block] of held.keys(from).blocks) target.blocks.set(name, block);
  for (const [name, entry] of held.keys(from).entries) target.entries.set(name, entry);
}

type Position = Pick<SessionInfo, "updated_at" | "created_at" | "id">;

/** The latest change first. */
function byUpdate(a: Position, b: Position): number {
  for (const field of ["updated_at", "created_at", "id"] as const) {
    if (a[field] !== b[field]) return a[field] < b[field] ? 1 : -1;
  }
  return 0;
}

function cursorOf({ updated_at, created_at, id }: Position): string {
  return [updated_at, created_at, id].join("~");
}

function parseCursor(cursor: string): Position {
  const [updated_at = "", created_at = "", ...id] = cursor.split("~");
  const times = [updated_at, created_at].every((time) => /^\d{4}-.*Z$/.test(time));
  if (times && id.length > 0) return { updated_at, created_at, id: id.join("~") };
  const message = "A cursor is the nextCursor of an earlier page, as it was given.";
  throw new StemmaError("INVALID_ARGUMENT", { cursor }, message);
}
