import { invalid, type SearchQuery, StemmaError } from "@stemma/model";
import type { BlockScope, MemoryScope, SearchHit, SearchRequest, Store, WrittenIds } from "../contract/store.js";
import type { Dialect } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import type { CallOrder, Part, Runner } from "../engine/runner.js";
import { assertCount, assertLimit } from "../operations/assert-storable.js";
import { readAs, scopedKey, writeAs } from "../operations/registry/owners.js";
import { makeRow } from "../operations/registry/session-head.js";
import { catchUp } from "../operations/search/index-rows.js";
import { type RankMessages, searchAtOnce, searchMessages } from "../operations/search/run-search.js";
import { assertUserId, isScope } from "./session-id.js";

/** Names a block, an entry or a record. */
interface ItemKey {
  readonly sessionId: string;
  readonly label: string;
  readonly scope?: BlockScope | undefined;
}

/** One write of what stands under a key; one of `messages` gives the ids of messages that it wrote. */
export interface WriteOfItem {
  readonly kind: string;
  readonly key: ItemKey;
  /** Is passed the key that the scope has. */
  operation(key: ItemKey): Operation<unknown>;
  /** It makes other writers of its session wait by itself. */
  readonly locks?: boolean | undefined;
  /** How many writes of the caller's it stands for. Default: one. */
  readonly writes?: number | undefined;
}

/** Kinds of writes before which other writers of the session are made to wait. */
const LOCKING: ReadonlySet<string> = new Set(["messages", "registry", "check"]);

interface CallParts {
  readonly runner: Runner;
  readonly callOrder: CallOrder;
  readonly sql: Dialect;
}

/** The calls of a store: each is one operation, run in its order, and for the user to whom the store is confined. */
export class SqlCalls {
  constructor(
    private readonly parts: CallParts,
    /** Operations of the engine's own make sure of it themselves. */
    readonly userId: string | undefined,
  ) {}

  // ── Of one session ──

  /** One consistent view. */
  read<T>(id: string, operation: () => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    return callOrder.read(id, () => runner.read(this.#reading(id, operation)));
  }

  /** One transaction, while no one else writes to the session. */
  write<T>(id: string, operation: () => Operation<T>, mode?: "write" | "idempotent"): Promise<T> {
    const { callOrder, runner } = this.parts;
    return callOrder.write(id, () => runner.write(this.#writing(id, operation), mode));
  }

  /** One statement that reads. */
  readOne<T>(id: string, operation: () => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    return callOrder.read(id, () =>
      this.userId === undefined ? runner.single(operation) : runner.read(this.#reading(id, operation)),
    );
  }

  /** The engine's own: one statement, or several of which each is atomic by itself. */
  writeOne<T>(id: string, native: () => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    return callOrder.write(id, () => runner.writeSingle(native));
  }

  /** The first of the two that gives something, as one call. */
  readEither<T>(id: string, native: () => Operation<T | null>, shared: () => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    return callOrder.read(id, async () => (await runner.single(native)) ?? runner.read(this.#reading(id, shared)));
  }

  // ── Of blocks, entries and records ──

  /** Reads what stands under a key; the operation is passed the key that the scope has. */
  readItem<K extends ItemKey, T>(kind: string, key: K, operation: (key: K) => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    const isSingle = this.userId === undefined && key.scope !== "user";
    const work = this.#readingItem(key, operation);
    return callOrder.readPart(partOf(key, kind), () => (isSingle ? runner.single(work) : runner.read(work)));
  }

  /** As `readItem`, in a transaction that sees one state. */
  searchItems<K extends ItemKey, T>(kind: string, key: K, operation: (key: K) => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    return callOrder.readPart(partOf(key, kind), () => runner.read(this.#readingItem(key, operation)));
  }

  /** Reads all that stands in a scope. */
  listItems<T>(scope: MemoryScope, operation: (scope: MemoryScope) => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    const work = () => runner.read(this.#readingItem({ ...scope, label: "" }, operation));
    // Of no session, it waits for the writes to each part.
    return scope.sessionId === "" ? callOrder.hold({ write: [""] }, work) : callOrder.read(scope.sessionId, work);
  }

  /** Removes some or all that stands in a scope. */
  eraseItems<T>(scope: MemoryScope, operation: (scope: MemoryScope) => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    const work = this.#readingItem({ ...scope, label: "" }, operation);
    return callOrder.write(scope.sessionId, () => runner.write(work));
  }

  writeItem<K extends ItemKey, T>(kind: string, key: K, operation: (key: K) => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    return callOrder.writePart(partOf(key, kind), () => runner.write(this.#writingItem(kind, key, operation)));
  }

  /** A write of single statements, each of which is atomic and may be repeated. */
  writeRecord<K extends ItemKey, T>(key: K, operation: (key: K) => Operation<T>): Promise<T> {
    const { callOrder, runner } = this.parts;
    const work = this.#writingItem("records", key, operation);
    return callOrder.writePart(partOf(key, "records"), () =>
      this.userId === undefined ? runner.writeSingle(work) : runner.write(work),
    );
  }

  /** Several writes in one transaction. */
  writeTogether(writes: readonly WriteOfItem[]): Promise<WrittenIds> {
    const { callOrder, runner } = this.parts;
    return callOrder.hold({ write: idsOf(writes) }, () => runner.write(() => this.#writingTogether(writes)));
  }

  *#writingTogether(writes: readonly WriteOfItem[]): Operation<WrittenIds> {
    const { lockSession } = this.parts.sql;
    // In one order, so that two writers of the same sessions do not wait for each other.
    const changed = idsOf(writes.filter(({ kind }) => LOCKING.has(kind))).sort();
    const isLocking = changed.length === 1 && writes[0]?.locks === true;
    if (lockSession !== null && !isLocking) for (const id of changed) yield* lockSession(id);
    const written: (readonly string[])[] = [];
    for (const { kind, key, operation, writes: times = 1 } of writes) {
      // A registry entry must be there, and its operation makes sure whose it is.
      const result = yield* kind === "registry" ? operation(key) : this.#writingItem(kind, key, operation)();
      const ids = kind === "messages" ? (result as readonly string[]) : [];
      for (let each = 0; each < times; each += 1) written.push(ids);
    }
    return written;
  }

  // ── Of several sessions ──

  /** `Store.search`, with a ranking of the caller's where one is given. */
  async search(query: SearchQuery, given: SearchRequest, rank?: RankMessages): Promise<SearchHit[]> {
    assertNoThreshold(given.threshold);
    assertLimit(given.limit, "The limit of a search");
    assertCount(given.offset, "The offset of a search", 0);
    assertCount(given.context, "The context of a search", 0);
    const { callOrder, runner, sql } = this.parts;
    const request = this.userId === undefined ? given : { ...given, userId: this.userId };
    const { sessionId, sessionIds = [] } = request;
    const read = () => runner.read(() => searchMessages(sql, query, request, rank), catchUp(sql));
    // What is a statement or two need not wait for a transaction to begin and to end.
    const isAtOnce = rank === undefined && sql.search?.atOnce !== undefined;
    const atOnce = async () => (await runner.single(() => searchAtOnce(sql, query, request))) ?? read();
    const work = isAtOnce ? atOnce : read;
    return sessionId === undefined ? callOrder.hold({ read: sessionIds }, work) : callOrder.read(sessionId, work);
  }

  // ── For a user ──

  #reading<T>(id: string, operation: () => Operation<T>): () => Operation<T> {
    return this.userId === undefined ? operation : readAs(this.userId, id, operation);
  }

  // While no one else writes to the session, in whatever process.
  #writing<T>(id: string, operation: () => Operation<T>): () => Operation<T> {
    const { lockSession } = this.parts.sql;
    const work = this.userId === undefined ? operation : writeAs(this.userId, id, operation);
    if (lockSession === null) return work;
    return function* () {
      yield* lockSession(id);
      return yield* work();
    };
  }

  #readingItem<K extends ItemKey, T>(key: K, operation: (key: K) => Operation<T>): () => Operation<T> {
    if (isOfSession(key)) return this.#reading(key.sessionId, () => operation(key));
    const { userId } = this;
    const work = function* (): Operation<T> {
      return yield* operation(yield* scopedKey(key, userId));
    };
    // With another scope "" is no session.
    return key.sessionId === "" ? work : this.#reading(key.sessionId, work);
  }

  #writingItem<K extends ItemKey, T>(kind: string, key: K, operation: (key: K) => Operation<T>): () => Operation<T> {
    // Records of no session, and what stands in another scope, do not make the session the user's.
    const makesOwner = isOfSession(key) && !(kind === "records" && key.sessionId === "");
    if (this.userId === undefined || !makesOwner) return this.#readingItem(key, operation);
    const { sql } = this.parts;
    return writeAs(this.userId, key.sessionId, function* () {
      // What is written first makes the session the user's, so it must be there.
      if (!isScope(key.sessionId)) yield* makeRow(sql, key.sessionId);
      return yield* operation(key);
    });
  }
}

const isOfSession = ({ scope = "session" }: ItemKey) => scope === "session";

const partOf = ({ sessionId, label }: ItemKey, kind: string): Part => ({ sessionId, kind, label });

const idsOf = (writes: readonly WriteOfItem[]) => [...new Set(writes.map(({ key }) => key.sessionId))];

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

/** Throws `INVALID_ARGUMENT` for a threshold: a ranking by words has no scale on which one number would mean the same for every query. */
export function assertNoThreshold(threshold: number | undefined): void {
  if (threshold === undefined) return;
  const message = "threshold is on the scale of a reranker, and this store has none: make one with withReranker().";
  throw invalid(message, { threshold });
}

/** The error for what a store of one user is not asked to do. */
export function confined(what: string): StemmaError {
  const message = `This store is confined to one user, and cannot ${what}: use the store that it was made of.`;
  return new StemmaError("SESSION_OWNED", {}, message);
}
