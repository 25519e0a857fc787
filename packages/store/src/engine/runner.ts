// How operations run, from the call down to its statements: what puts calls in order, the runners of the two kinds of connections, and
// what answers a statement.
import {
  beginWork,
  type Deferred,
  defer,
  isYieldDue,
  type Locks,
  once,
  Queue,
  StemmaError,
  yieldIfDue,
  yieldNow,
} from "@stemma/model";
import type { AsyncConnection, Connection, OpenTransaction, SyncConnection, TransactionMode } from "./connection.js";
import { type Operation, oneByOne, PAUSE, type Row, type SqlValue, type Statement } from "./operation.js";

/** A block, or a collection of entries, of a session. */
export interface Part {
  readonly sessionId: string;
  readonly kind: string;
  readonly label: string;
}

/** Puts the calls of a store in order: those for one session take effect as they were made. */
export interface CallOrder {
  read<T>(sessionId: string, work: () => Promise<T>): Promise<T>;
  write<T>(sessionId: string, work: () => Promise<T>): Promise<T>;
  readPart<T>(part: Part, work: () => Promise<T>): Promise<T>;
  writePart<T>(part: Part, work: () => Promise<T>): Promise<T>;
  /** For calls that concern several sessions, or none in particular. */
  hold<T>(sessions: Locks, work: () => Promise<T>): Promise<T>;
  /** Refuses further calls, and waits for those that were made before. */
  end(): Promise<void>;
}

/** Each call waits for those before it of the same session. After the end of the store called `name` each fails with `STORE_CLOSED`. */
export class QueuedOrder implements CallOrder {
  #isEnded = false;

  constructor(
    private readonly queue: Queue,
    private readonly name: string,
  ) {}

  read<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    return this.#isEnded ? this.#refuse() : this.queue.read(sessionId, work);
  }

  write<T>(sessionId: string, work: () => Promise<T>): Promise<T> {
    return this.#isEnded ? this.#refuse() : this.queue.write(sessionId, work);
  }

  // What all sessions share is kept for the unnamed one; its parts do not wait for each other.
  readPart<T>({ sessionId, kind, label }: Part, work: () => Promise<T>): Promise<T> {
    return sessionId === "" ? this.hold({ read: ["", `${kind}\0${label}`] }, work) : this.read(sessionId, work);
  }

  writePart<T>({ sessionId, kind, label }: Part, work: () => Promise<T>): Promise<T> {
    return sessionId === ""
      ? this.hold({ read: [""], write: [`${kind}\0${label}`] }, work)
      : this.write(sessionId, work);
  }

  hold<T>(sessions: Locks, work: () => Promise<T>): Promise<T> {
    return this.#isEnded ? this.#refuse() : this.queue.hold(sessions, work);
  }

  end(): Promise<void> {
    this.#isEnded = true;
    return this.queue.settled();
  }

  #refuse(): Promise<never> {
    return Promise.reject(closed(this.name));
  }
}

/** The order of an engine that is done with a call before the next one is made. */
export const NO_WAIT: CallOrder = {
  read: (_sessionId, work) => work(),
  write: (_sessionId, work) => work(),
  readPart: (_part, work) => work(),
  writePart: (_part, work) => work(),
  hold: (_sessions, work) => work(),
  end: async () => {},
};

/** Runs operations on a connection, after `prepare` has run once. */
export interface Runner {
  /** One transaction; the caller's view is never half of it. */
  write<T>(operation: () => Operation<T>, mode?: "write" | "idempotent"): Promise<T>;
  /**
   * Several writes that may be repeated, in one transaction; each in one of its own, in their order, where that fails. Nobody else
   * writes in between. `operation` does those that it is given. Gives what became of each.
   */
  writeEach<Write, T>(
    writes: readonly Write[],
    operation: (writes: readonly Write[]) => Operation<T[]>,
  ): Promise<PromiseSettledResult<T>[]>;
  /** One consistent view of the database; of what `first` wrote, where that was needed. */
  read<T>(operation: () => Operation<T>, first?: CatchUp): Promise<T>;
  /** Lets others work where the operation pauses: what it reads then is of a later state. */
  readInSteps<T>(operation: () => Operation<T>): Promise<T>;
  /** False where a connection waits for each statement, so that others work anyway. */
  readonly hasSteps: boolean;
  /** No transaction: one statement, or several of which each is atomic by itself and may be repeated. */
  single<T>(operation: () => Operation<T>): Promise<T>;
  /** As `single`, for writes. */
  writeSingle<T>(operation: () => Operation<T>): Promise<T>;
  /** Runs `prepare` if it has not run yet. */
  ready(): Promise<void>;
  /** Refuses further calls, and waits for those that are under way. */
  close(): Promise<void>;
  /** Further statements run on what `wrap` makes of the connection. */
  observe(wrap: <C extends Connection>(connection: C) => C): void;
}

/** A write that comes before a read, where there is something to write. */
export interface CatchUp {
  readonly isNeeded: () => Operation<boolean>;
  readonly work: () => Operation<void>;
}

interface Preparation {
  /** One step of creating or upgrading the tables, true when none is left; when it fails, the next call goes on from there. */
  readonly prepare: () => Operation<boolean>;
  /** Tells that there is nothing to prepare, where one statement can; at once on a synchronous connection. */
  readonly isPrepared?: (() => boolean | Promise<boolean>) | undefined;
}

/** For a connection that answers at once. */
export interface SyncOptions {
  /**
   * A program that makes one call after the other would keep timers and sockets waiting, for what it awaits is there already. So a
   * call is now and then answered a round of the event loop later, its work done at once all the same, if this gives true. Default: never.
   */
  readonly mayPause?: (() => boolean) | undefined;
  /** The lane that it shares with the other connections of this process to the same database. Default: one of its own. */
  readonly lane?: Lane | undefined;
}

/** A key of a queue: who holds it is alone with a database. */
export interface Lane {
  readonly queue: Queue;
  readonly key: string;
}

export const ownLane = (): Lane => ({ queue: new Queue(), key: "" });

/** A runner of the store called `name`. */
export function createRunner(connection: Connection, name: string, options: Preparation & SyncOptions): Runner {
  return connection.kind === "sync"
    ? new SyncRunner(connection, name, options)
    : new AsyncRunner(connection, name, options);
}

/** The error of a call on a store that was closed. */
function closed(name: string): StemmaError {
  return new StemmaError("STORE_CLOSED", { store: name }, `This ${name} store was closed; open a new one.`);
}

/** A value, or a promise of it where it is not there at once. */
type MaybeLater<T> = T | Promise<T>;

/** How long an operation that is run in steps works before others do, in milliseconds. */
const BUSY = 10;

/** Of an engine that answers at once: calls run in the order in which they were made, each before it returns. */
class SyncRunner implements Runner {
  readonly hasSteps = true;
  readonly #lane: Lane;
  #state: "new" | "ready" | "closed" = "new";
  /** When others worked, in milliseconds. */
  #rested = Number.NEGATIVE_INFINITY;

  constructor(
    private connection: SyncConnection,
    private readonly name: string,
    private readonly options: Preparation & SyncOptions,
  ) {
    this.#lane = options.lane ?? ownLane();
  }

  write<T>(operation: () => Operation<T>, mode: TransactionMode = "write"): Promise<T> {
    return this.#answer(() => this.#transact(mode, operation));
  }

  writeEach<Write, T>(
    writes: readonly Write[],
    operation: (writes: readonly Write[]) => Operation<T[]>,
  ): Promise<PromiseSettledResult<T>[]> {
    return this.#answer(() => eachOf(writes, (some) => this.#transact("idempotent", () => operation(some))));
  }

  read<T>(operation: () => Operation<T>, first?: CatchUp): Promise<T> {
    return this.#answer(() => {
      if (first === undefined || !runSync(first.isNeeded(), this.connection)) return this.#transact("read", operation);
      const done = this.#transact("write", first.work);
      const read = () => this.#transact("read", operation);
      return done instanceof Promise ? done.then(read) : read();
    });
  }

  async readInSteps<T>(operation: () => Operation<T>): Promise<T> {
    const steps = operation();
    const isRested = () => performance.now() - this.#rested < BUSY;
    for (;;) {
      if (!isRested()) {
        await new Promise((resolve) => setTimeout(resolve));
        this.#rested = performance.now();
      }
      const step = await this.#inLane(() =>
        this.connection.transaction("read", () => runWhile(isRested, steps, this.connection)),
      );
      if (step.done === true) return step.value;
    }
  }

  single<T>(operation: () => Operation<T>): Promise<T> {
    return this.#answer(() => runSync(operation(), this.connection));
  }

  // A transaction costs no round trip here, and makes sure of the file.
  writeSingle<T>(operation: () => Operation<T>): Promise<T> {
    return this.write(operation);
  }

  async ready(): Promise<void> {
    await this.#inLane(() => {});
  }

  async close(): Promise<void> {
    const { queue, key } = this.#lane;
    const end = () => {
      if (this.#state === "closed") return;
      this.#state = "closed";
      this.connection.close();
    };
    if (queue.has(key)) await queue.write(key, async () => end());
    else end();
  }

  observe(wrap: <C extends Connection>(connection: C) => C): void {
    this.connection = wrap(this.connection);
  }

  async #answer<T>(work: () => MaybeLater<T>): Promise<T> {
    const { mayPause } = this.options;
    if (mayPause !== undefined) beginWork();
    try {
      const result = this.#inLane(work);
      return result instanceof Promise ? await result : result;
    } finally {
      if (mayPause !== undefined && isYieldDue() && (this.#state === "closed" || mayPause())) await yieldNow();
    }
  }

  // At once, unless an operation is open: those that are called meanwhile wait for it.
  #inLane<T>(work: () => MaybeLater<T>): MaybeLater<T> {
    const { queue, key } = this.#lane;
    if (queue.has(key)) {
      return queue.write(key, async () => {
        if (this.#state !== "ready") this.#prepare();
        return work();
      });
    }
    if (this.#state !== "ready") this.#prepare();
    const result = work();
    return result instanceof Promise ? queue.write(key, () => result) : result;
  }

  #prepare(): void {
    if (this.#state === "closed") throw closed(this.name);
    const { prepare, isPrepared } = this.options;
    const { connection } = this;
    const step = () => connection.transaction("write", () => runSync(prepare(), connection));
    for (let done = isPrepared?.() === true; !done; ) done = step();
    this.#state = "ready";
  }

  /** At once where it is short. */
  #transact<T>(mode: TransactionMode, operation: () => Operation<T>): MaybeLater<T> {
    const { connection } = this;
    if (connection.begin === undefined) {
      return connection.transaction(mode, () => runSync(operation(), connection));
    }
    const transaction = connection.begin(mode);
    try {
      const steps = operation();
      const step = runUntil(performance.now() + STEP, steps, connection, []);
      if (!step.done) return goOn(transaction, steps, connection, step.rows);
      transaction.commit();
      return step.value;
    } catch (error) {
      transaction.rollback();
      throw error;
    }
  }
}

/** How long an operation works before the event loop runs, in milliseconds. */
const STEP = 15;
/** As long it may take where the event loop was away longer: others wait for the transaction, and it must come to its end. */
const LONGEST_STEP = 30;
/** An operation that took longer may have written much, which takes long to commit, in milliseconds. */
const LONG = 100;

// The one that is there now: a test may put another in its place.
const afterPoll: (work: () => void) => unknown = globalThis.setImmediate ?? setTimeout;

// A long operation would hold up the process: it was interrupted between two of its statements, and goes on in later rounds of the
// event loop, in its transaction.
async function goOn<T>(
  transaction: OpenTransaction,
  steps: Operation<T>,
  connection: SyncConnection,
  left: Row[],
): Promise<T> {
  const begun = performance.now();
  try {
    for (let rows = left; ; ) {
      const away = await loopRan();
      const time = Math.min(Math.max(STEP, away), LONGEST_STEP);
      const step = runUntil(performance.now() + time, steps, connection, rows);
      if (step.done) {
        const isLong = performance.now() - begun >= LONG;
        if (isLong && transaction.commitMuch !== undefined) await commitInSteps(transaction.commitMuch);
        else transaction.commit();
        return step.value;
      }
      rows = step.rows;
    }
  } catch (error) {
    transaction.rollback();
    throw error;
  }
}

async function commitInSteps(commitMuch: () => () => void): Promise<void> {
  await loopRan();
  const finish = commitMuch();
  await loopRan();
  try {
    finish();
  } catch {
    // It is committed all the same.
  }
}

// Gives how long it took, in milliseconds.
async function loopRan(): Promise<number> {
  const left = performance.now();
  await new Promise<void>((resolve) => afterPoll(resolve));
  return performance.now() - left;
}

/** Of an engine behind a wire. */
class AsyncRunner implements Runner {
  readonly hasSteps = false;
  readonly #prepareOnce: () => Promise<void>;
  #isReady = false;
  #isClosed = false;
  #running = 0;
  #ended: Deferred | null = null;

  constructor(
    private connection: AsyncConnection,
    private readonly name: string,
    { prepare, isPrepared }: Preparation,
  ) {
    this.#prepareOnce = once(async () => {
      for (let done = (await isPrepared?.()) === true; !done; ) done = await this.#transact("idempotent", prepare);
      this.#isReady = true;
    });
  }

  write<T>(operation: () => Operation<T>, mode: TransactionMode = "write"): Promise<T> {
    return this.#whenReady(() => this.#transact(mode, operation));
  }

  writeEach<Write, T>(
    writes: readonly Write[],
    operation: (writes: readonly Write[]) => Operation<T[]>,
  ): Promise<PromiseSettledResult<T>[]> {
    return this.#whenReady(async () => eachOf(writes, (some) => this.#transact("idempotent", () => operation(some))));
  }

  async read<T>(operation: () => Operation<T>, first?: CatchUp): Promise<T> {
    if (first !== undefined && (await this.single(first.isNeeded))) await this.write(first.work);
    return this.#whenReady(() => this.#transact("read", operation));
  }

  readInSteps<T>(operation: () => Operation<T>): Promise<T> {
    return this.read(operation);
  }

  single<T>(operation: () => Operation<T>): Promise<T> {
    return this.#whenReady(() => runAsync(operation(), this.connection.query));
  }

  writeSingle<T>(operation: () => Operation<T>): Promise<T> {
    return this.single(operation);
  }

  ready(): Promise<void> {
    return this.#whenReady(async () => {});
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    // A pool that was ended never answers who waits for one of its connections.
    if (this.#running > 0) {
      this.#ended = defer();
      await this.#ended.promise;
    }
    await this.connection.close();
  }

  observe(wrap: <C extends Connection>(connection: C) => C): void {
    this.connection = wrap(this.connection);
  }

  // Nothing is waited for that is there: each call of an append costs as much as some of its work.
  #whenReady<T>(work: () => Promise<T>): Promise<T> {
    this.#running += 1;
    const isReady = this.#isReady && !this.#isClosed;
    const done = isReady ? work() : this.#prepare().then(work);
    const end = (): void => {
      this.#running -= 1;
      if (this.#running === 0) this.#ended?.resolve();
    };
    done.then(end, end);
    return done;
  }

  #prepare(): Promise<void> {
    return this.#isClosed ? Promise.reject(closed(this.name)) : this.#prepareOnce();
  }

  #transact<T>(mode: TransactionMode, operation: () => Operation<T>): Promise<T> {
    return this.connection.transaction(mode, (query) => runAsync(operation(), query));
  }
}

/** The outcomes of writes that `done` does together, or one by one where it cannot: given at once where they are done at once. */
function eachOf<Write, T>(
  writes: readonly Write[],
  done: (writes: readonly Write[]) => MaybeLater<T[]>,
): MaybeLater<PromiseSettledResult<T>[]> {
  const one = async (write: Write) => (await done([write]))[0] as T;
  const oneByOne = async () => {
    const outcomes: PromiseSettledResult<T>[] = [];
    for (const write of writes) outcomes.push(...(await Promise.allSettled([one(write)])));
    return outcomes;
  };
  if (writes.length === 1) return oneByOne();
  const fulfilled = (values: T[]) => values.map((value) => ({ status: "fulfilled", value }) as const);
  try {
    const all = done(writes);
    return all instanceof Promise ? all.then(fulfilled, oneByOne) : fulfilled(all);
  } catch {
    return oneByOne();
  }
}

/** Runs an operation on a connection that answers at once. */
export function runSync<T>(operation: Operation<T>, connection: SyncConnection): T {
  let step = operation.next();
  while (!step.done) step = operation.next(answerSync(connection, step.value));
  return step.value;
}

// Up to a pause before which the condition no longer held, or to the end.
function runWhile<T>(
  mayGoOn: () => boolean,
  operation: Operation<T>,
  connection: SyncConnection,
): IteratorResult<Statement, T> {
  let step = operation.next([]);
  while (!step.done && (step.value !== PAUSE || mayGoOn())) step = operation.next(answerSync(connection, step.value));
  return step;
}

type Step<T> = { readonly done: true; readonly value: T } | { readonly done: false; readonly rows: Row[] };

// To the end, or to the statement after which it is too late: then `rows` are what the operation goes on with. It begins with those of
// the time before.
function runUntil<T>(end: number, operation: Operation<T>, connection: SyncConnection, rows: Row[]): Step<T> {
  let step = operation.next(rows);
  while (!step.done) {
    const answer = answerSync(connection, step.value);
    if (performance.now() >= end) return { done: false, rows: answer };
    step = operation.next(answer);
  }
  return { done: true, value: step.value };
}

/** Runs an operation on a connection that is waited for. */
async function runAsync<T>(operation: Operation<T>, query: (statement: Statement) => Promise<Row[]>): Promise<T> {
  let step = operation.next();
  while (!step.done) {
    if (step.value === PAUSE) {
      const due = yieldIfDue();
      if (due !== null) await due;
      step = operation.next([]);
      continue;
    }
    step = operation.next(await answerAsync(step.value, query));
  }
  return step.value;
}

function answerSync(connection: SyncConnection, unchecked: Statement): Row[] {
  if (unchecked === PAUSE) return [];
  const statement = withoutUnstorable(unchecked, isIllFormed);
  const { as } = statement;
  if (as === undefined) return connection.query(statement);
  const found = connection[as]?.(statement);
  if (found !== undefined) return found as Row[];
  const answer =
    as === "each" || as === "times"
      ? runSync(oneByOne(statement), connection)
      : inForm(as, connection.query(plain(statement)));
  return answer as Row[];
}

async function answerAsync(statement: Statement, query: (statement: Statement) => Promise<Row[]>): Promise<Row[]> {
  const { as } = statement;
  if (as === undefined) return query(statement);
  const answer =
    as === "each" || as === "times"
      ? await runAsync(oneByOne(statement), query)
      : inForm(as, await query(plain(statement)));
  return answer as Row[];
}

// The statement that gives as rows what its form is made from.
function plain(statement: Statement): Statement {
  return statement.as === "count" ? { ...statement, sql: `${statement.sql} RETURNING 1` } : statement;
}

function inForm(as: Exclude<Statement["as"], "each" | "times" | undefined>, rows: Row[]): unknown {
  if (as === "count") return rows.length;
  const names = Object.keys(rows[0] ?? {});
  if (as === "tuples") return rows.map((row) => names.map((name) => row[name]));
  return rows.map((row) => row[names[0] as string]);
}

// True for half of a surrogate pair, in place of which an engine would store U+FFFD: another text, perhaps another row's key.
const isIllFormed = (value: SqlValue): boolean => typeof value === "string" && !value.isWellFormed();

/**
 * A statement without the values that the engine cannot keep. No row holds such a text, so a query for it finds what a query for
 * NULL does: nothing. Errors: `INVALID_TEXT` for one that writes.
 */
export function withoutUnstorable(statement: Statement, isUnstorable: (value: SqlValue) => boolean): Statement {
  const { sql, values, rows } = statement;
  if (!values.some(isUnstorable) && rows?.some((row) => row.some(isUnstorable)) !== true) return statement;
  if (/^\s*(?:SELECT|WITH)\b/i.test(sql)) {
    return { ...statement, values: values.map((value) => (isUnstorable(value) ? null : value)) };
  }
  const message = "A text holds NUL or half a surrogate pair, which the database cannot keep; remove it.";
  throw new StemmaError("INVALID_TEXT", {}, message);
}
