import type { BlockStore, EntryStore, MemoryScope, StoredVersion } from "./memory.js";
import type { RecordScope, RecordStore } from "./records.js";
import type { SessionStore } from "./session.js";
import type { SessionRegistry } from "./session-registry.js";
import type { Store } from "./store.js";
import type { VectorStore } from "./vectors.js";

/** The target of a call: a session, blocks and entries of a scope (all labels, where none is named), or records. */
export type Named =
  | { readonly session: string }
  | { readonly memory: MemoryScope; readonly label: string | null }
  | { readonly records: string; readonly label: string | null };

/**
 * One method of the contract. `mode` is `admin` for what concerns the whole database. `names` gives what a call with these
 * arguments names; for what concerns several sessions that no argument names, nothing. `isStream` tells that it gives an
 * `AsyncIterable` and no promise.
 */
export interface MethodRow {
  readonly mode: "read" | "write" | "admin";
  names(values: readonly unknown[]): readonly Named[];
  readonly isStream?: true;
  /** A write that `Store.once` does once. */
  readonly isOnce?: true;
}

type Method = (...values: never[]) => unknown;

/** A row for each method of a part of the contract. One that is left out is an error of the compiler. */
export type MethodRows<Part> = {
  readonly [Name in keyof Part as Part[Name] extends Method | undefined ? Name : never]-?: MethodRow;
};

type Names = MethodRow["names"];

const read = (names: Names = nothing): MethodRow => ({ mode: "read", names });
const write = (names: Names = nothing): MethodRow => ({ mode: "write", names, isOnce: true });
const admin: MethodRow = { mode: "admin", names: nothing };

function nothing(): readonly Named[] {
  return [];
}

const byId: Names = ([id]) => [{ session: id as string }];
const byEntry: Names = ([entry]) => [{ session: (entry as { id: string }).id }];
/** The session that is read, and the one that is made of it. */
const toAnother: Names = ([id, , next]) => [{ session: id as string }, { session: (next as { id: string }).id }];
/** The session to which a request narrows itself. */
const byRequest: Names = ([request]) => {
  const { sessionId } = (request ?? {}) as { readonly sessionId?: string };
  return sessionId === undefined ? [] : [{ session: sessionId }];
};
const bySearch: Names = ([, request]) => {
  const { sessionIds = [] } = (request ?? {}) as { readonly sessionIds?: readonly string[] };
  return [...byRequest([request]), ...sessionIds.map((session) => ({ session }))];
};
const byKey: Names = ([key, ...values]) => [memoryOf(key as MemoryKey), ...values.flatMap(originOf)];
/** A store may take all but the label of the first for that of all. */
const byKeys: Names = ([keys]) => {
  const [first] = keys as readonly MemoryKey[];
  return (keys as readonly MemoryKey[]).flatMap((key) => [
    memoryOf(key),
    memoryOf({ ...(first as MemoryKey), ...labelOf(key) }),
  ]);
};
const byVersions: Names = (values) => [
  ...byKey(values),
  ...(values.at(-1) as readonly StoredVersion[]).flatMap(({ sessionId }) =>
    sessionId == null ? [] : [{ session: sessionId }],
  ),
];
const byRecords: Names = ([scope]) => [recordsOf(scope as RecordScope)];
const byWrites: Names = ([writes]) => (writes as readonly object[]).flatMap(namedBy);

type MemoryKey = MemoryScope & { readonly label?: string };

const labelOf = ({ label }: MemoryKey) => (label === undefined ? {} : { label });

function memoryOf({ sessionId, scope, label }: MemoryKey): Named {
  return { memory: { sessionId, scope }, label: label ?? null };
}

// A version is listed in the session in which it is said to be written.
function originOf(options: unknown): Named[] {
  const { origin } = (options ?? {}) as { readonly origin?: { readonly sessionId?: string } };
  return origin?.sessionId === undefined ? [] : [{ session: origin.sessionId }];
}

function recordsOf({ sessionId, label }: RecordScope): Named {
  return { records: sessionId, label };
}

/** All that a write could be taken for. */
function namedBy(each: Partial<Record<string, unknown>>): Named[] {
  const { block, entries, records, registered, session, options } = each;
  return [
    ...(block === undefined ? [] : [memoryOf(block as MemoryKey)]),
    ...(entries === undefined ? [] : [memoryOf(entries as MemoryKey)]),
    ...(records === undefined ? [] : [recordsOf(records as RecordScope)]),
    ...(registered === undefined ? [] : [{ session: registered as string }]),
    ...(session === undefined ? [] : [{ session: session as string }]),
    ...originOf(options),
  ];
}

const stream: MethodRow = { ...read(), isStream: true };

/** The methods of a `SessionStore`; each names its session. */
export const SESSION_METHODS: MethodRows<SessionStore> = {
  append: write(),
  appendSibling: write(),
  update: write(),
  upsert: write(),
  delete: write(),
  clear: write(),
  importTree: write(),
  setActiveLeaf: write(),
  rewindTo: write(),
  selectBranch: write(),
  message: read(),
  leaf: read(),
  branches: read(),
  branchIds: read(),
  parent: read(),
  siblings: read(),
  siblingIds: read(),
  path: read(),
  stream,
  lines: stream,
  recent: read(),
  rowStats: read(),
  length: read(),
  count: read(),
  tokens: read(),
  tree: read(),
  treePage: read(),
  messages: stream,
  search: read(),
  compactions: read(),
  addCompaction: write(),
  removeCompaction: write(),
  originals: read(),
  skills: read(),
  changeSkills: write(),
  change: read(),
  writes: read(),
};

/** The methods of the other parts of a store, by part. */
export interface PartMethods {
  readonly sessions: MethodRows<SessionRegistry>;
  readonly blocks: MethodRows<BlockStore>;
  readonly entries: MethodRows<EntryStore>;
  readonly records: MethodRows<RecordStore>;
  readonly vectors: MethodRows<VectorStore>;
}

export const PART_METHODS: PartMethods = {
  sessions: {
    create: write(byEntry),
    get: read(byId),
    list: read(),
    count: read(),
    unregistered: admin,
    due: read(byRequest),
    markLearned: write(byId),
    update: write(byId),
    restore: write(byId),
    delete: write(byId),
    prune: write(byId),
    addUsage: write(byId),
    usageRows: read(byId),
    importUsage: write(byId),
    usage: read(byRequest),
    compactionSums: read(byRequest),
    fork: write(toAnother),
    split: write(toAnother),
    claim: { ...admin, isOnce: true },
  },
  blocks: {
    get: read(byKey),
    getMany: read(byKeys),
    set: write(byKey),
    append: write(byKey),
    delete: write(byKey),
    list: read(byKey),
    owners: read(),
    versions: read(byKey),
    importVersions: write(byVersions),
  },
  entries: {
    labels: read(byKey),
    list: read(byKey),
    count: read(byKey),
    get: read(byKey),
    set: write(byKey),
    append: write(byKey),
    delete: write(byKey),
    removed: read(byKey),
    versions: read(byKey),
    importVersions: write(byVersions),
    search: read(byKey),
  },
  records: {
    get: read(byRecords),
    set: write(byRecords),
    delete: write(byRecords),
    list: read(byRecords),
    labels: read(([sessionId]) => [{ records: sessionId as string, label: null }]),
    expire: write(byRecords),
    now: read(),
  },
  vectors: {
    model: read(),
    list: { ...stream, names: byId },
    import: write(byId),
  },
};

/** Members that are parts of a store, serve the process alone, or are made of other calls. */
type NoCall = "session" | "consolidate" | "forUser" | "once" | "observer" | "observeStatements" | "observeReranker";

/** The methods of the store itself. */
export const STORE_METHODS: MethodRows<Omit<Store, NoCall>> = {
  writeTogether: write(byWrites),
  deleteMemory: write(byKey),
  pruneVersions: write(byKey),
  pruneExpired: write(byKey),
  scrub: admin,
  search: read(bySearch),
  check: admin,
  backup: admin,
  // The first call of any kind does the same.
  migrate: read(),
  close: admin,
};
