import { StemmaError } from "@stemma/model";
import type { BlockScope, MemoryScope, SearchHit, SearchRequest, Store, WrittenIds } from "../contract/store.js";
import type { Part, Turns } from "../engine/call-order.js";
import type { Dialect } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import type { Runner } from "../engine/runner.js";
import { readAs, scopedKey, writeAs } from "../operations/registry/owners.js";
import { makeRow } from "../operations/registry/session-head.js";
import { assertUserId, isScope } from "./session-id.js";
import type { SessionCalls } from "./sql-session.js";

/** What names something that is kept beside a session's messages. */
interface Kept {
  readonly sessionId: string;
  readonly label: string;
  readonly scope?: BlockScope | undefined;
}

/** How a store runs its operations: in their turns, and for the user that it is confined to. */
export interface SqlCalls {
  session(id: string): SessionCalls;
  /** What is kept under a key; the operation is given the key that the scope has. */
  readKept<K extends Kept, T>(kind: string, key: K, operation: (key: K) => Operation<T>): Promise<T>;
  /** The same in a transaction that sees one state. */
  searchKept<K extends Kept, T>(kind: string, key: K, operation: (key: K) => Operation<T>): Promise<T>;
  /** Reads of all that is kept for a session or in another scope. */
  listKept<T>(scope: MemoryScope, operation: (scope: MemoryScope) => Operation<T>): Promise<T>;
  /** Removes some or all of it. */
  eraseKept<T>(scope: MemoryScope, operation: (scope: MemoryScope) => Operation<T>): Promise<T>;
  writeKept<K extends Kept, T>(kind: string, key: K, operation: (key: K) => Operation<T>): Promise<T>;
  /** The same for an operation of single statements, each of which is atomic and may be repeated. */
  writeRecord<K extends Kept, T>(key: K, operation: (key: K) => Operation<T>): Promise<T>;
  /** Several of them in one transaction. */
  writeAllKept(writes: readonly WriteOfKept[]): Promise<WrittenIds>;
}

/** One write of what is kept under a key; one of `messages` gives the ids that are told of it. */
export interface WriteOfKept {
  readonly kind: string;
  readonly key: Kept;
  /** Is given the key that the scope has. */
  operation(key: Kept): Operation<unknown>;
  /** It makes other writers of its session wait by itself. */
  readonly locks?: boolean | undefined;
  /** As how many writes it was given. Default: one. */
  readonly writes?: number | undefined;
}

/** Kinds of writes before which other writers of the session are made to wait. */
const LOCKING: ReadonlySet<string> = new Set(["messages", "registry", "check"]);

export function sqlCalls(
  { runner, turns, sql }: { readonly runner: Runner; readonly turns: Turns; readonly sql: Dialect },
  search: (query: string, request: SearchRequest) => Promise<SearchHit[]>,
  userId: string | undefined,
): SqlCalls {
  const { single } = runner;
  const { lockSession } = sql;
  const reading = <T>(id: string, operation: () => Operation<T>) =>
    userId === undefined ? operation : readAs(userId, id, operation);
  const writing = <T>(id: string, operation: () => Operation<T>) =>
    userId === undefined ? operation : writeAs(userId, id, operation);
  // While no one else writes to the session, in whatever process.
  const locked = <T>(id: string, operation: () => Operation<T>): (() => Operation<T>) => {
    if (lockSession === null) return operation;
    return function* () {
      yield* lockSession(id);
      return yield* operation();
    };
  };

  const isOwn = ({ scope = "session" }: Kept) => scope === "session";
  const opened = <K extends Kept, T>(key: K, operation: (key: K) => Operation<T>) =>
    function* (): Operation<T> {
      return yield* operation(yield* scopedKey(key, userId));
    };
  // What is written first makes the session the user's, so it must be there.
  const registered = <K extends Kept, T>(key: K, operation: (key: K) => Operation<T>) =>
    function* (): Operation<T> {
      if (!isScope(key.sessionId)) yield* makeRow(sql, key.sessionId);
      return yield* operation(key);
    };
  // With another scope "" is no session.
  const readingKept = <K extends Kept, T>(key: K, operation: (key: K) => Operation<T>) => {
    const work = opened(key, operation);
    return isOwn(key) || key.sessionId !== "" ? reading(key.sessionId, work) : work;
  };
  const writingKept = <K extends Kept, T>(kind: string, key: K, operation: (key: K) => Operation<T>) => {
    // Records of no session, and what is kept for others than the session, do not make it theirs.
    const makesOwner = userId !== undefined && isOwn(key) && !(kind === "records" && key.sessionId === "");
    return makesOwner ? writing(key.sessionId, registered(key, operation)) : readingKept(key, operation);
  };
  const partOf = ({ sessionId, label }: Kept, kind: string): Part => ({ sessionId, kind, label });

  return {
    session: (id) => ({
      userId,
      read: (operation) => turns.read(id, () => runner.read(reading(id, operation))),
      write: (operation, mode) => turns.write(id, () => runner.write(locked(id, writing(id, operation)), mode)),
      readOne: (operation) =>
        turns.read(id, () => (userId === undefined ? single(operation) : runner.read(reading(id, operation)))),
      writeOne: (native) => turns.write(id, () => single(native)),
      readEither: (native, shared) =>
        turns.read(id, async () => (await single(native)) ?? runner.read(reading(id, shared))),
      search,
    }),
    readKept: (kind, key, operation) => {
      const isSingle = userId === undefined && key.scope !== "user";
      const work = readingKept(key, operation);
      return turns.readPart(partOf(key, kind), () => (isSingle ? single(work) : runner.read(work)));
    },
    searchKept: (kind, key, operation) =>
      turns.readPart(partOf(key, kind), () => runner.read(readingKept(key, operation))),
    listKept: (scope, operation) => {
      const work = () => runner.read(readingKept({ ...scope, label: "" }, operation));
      // Of no session, it waits for the writes to each part.
      return scope.sessionId === "" ? turns.hold({ write: [""] }, work) : turns.read(scope.sessionId, work);
    },
    eraseKept: (scope, operation) =>
      turns.write(scope.sessionId, () => runner.write(readingKept({ ...scope, label: "" }, operation))),
    writeKept: (kind, key, operation) =>
      turns.writePart(partOf(key, kind), () => runner.write(writingKept(kind, key, operation))),
    writeRecord: (key, operation) => {
      const work = writingKept("records", key, operation);
      return turns.writePart(partOf(key, "records"), () =>
        userId === undefined ? runner.writeSingle(work) : runner.write(work),
      );
    },
    writeAllKept: (writes) => {
      const ids = (some: readonly WriteOfKept[]) => [...new Set(some.map(({ key }) => key.sessionId))];
      // In one order, so that two writers of the same sessions do not wait for each other.
      const changed = ids(writes.filter(({ kind }) => LOCKING.has(kind))).sort();
      const isLocking = changed.length === 1 && writes[0]?.locks === true;
      return turns.hold({ write: ids(writes) }, () =>
        runner.write(function* () {
          if (lockSession !== null && !isLocking) for (const id of changed) yield* lockSession(id);
          const written: (readonly string[])[] = [];
          for (const { kind, key, operation, writes: given = 1 } of writes) {
            // A registry entry must be there, and its operation makes sure whose it is.
            const result = yield* kind === "registry" ? operation(key) : writingKept(kind, key, operation)();
            const told = kind === "messages" ? (result as readonly string[]) : [];
            for (let each = 0; each < given; each += 1) written.push(told);
          }
          return written;
        }),
      );
    },
  };
}

/** `Store.backup` of a store without a file of its own. */
export function refuseBackup(name: string): Store["backup"] {
  return async () => {
    const message = `A ${name} store is no file. Copy it with copyStore() of stemma/copy or \`stemma copy\`, or with the tools of its database, such as pg_dump.`;
    throw new StemmaError("STORE_UNSUPPORTED", { store: name }, message);
  };
}

/** `forUser` of a store that is confined to `userId` already, or to nobody yet; `storeOf` makes the store of a user. */
export function confining(userId: string | undefined, storeOf: (userId: string) => Store): Store["forUser"] {
  return (other) => {
    assertUserId(other);
    if (userId !== undefined && other !== userId) throw confined("serve another one");
    return storeOf(other);
  };
}

/** The error for what a store of one user is not asked to do. */
export function confined(what: string): StemmaError {
  const message = `This store is confined to one user, and cannot ${what}: use the store that it was made of.`;
  return new StemmaError("SESSION_OWNED", {}, message);
}
