import { type Deferred, defer, once, StemmaError } from "@stemma/model";
import type { AsyncConnection, Connection, SyncConnection, TransactionMode } from "./connection.js";
import { driveAsync, driveSync, driveWhile } from "./drive.js";
import type { Operation } from "./operation.js";
import { type Lane, type MaybeLater, ownLane, runInSteps } from "./steps.js";

/** How long an operation that is run in steps works before others do, in milliseconds. */
const BUSY = 10;

/** Drives operations on a connection, after `prepare` has run once. */
export interface Runner {
  /** One transaction; the caller's view is never half of it. */
  write<T>(operation: () => Operation<T>, mode?: "write" | "idempotent"): Promise<T>;
  /** One consistent view of the database; of what `first` wrote, where that was needed. */
  read<T>(operation: () => Operation<T>, first?: CatchUp): Promise<T>;
  /**
   * The same, but where the operation pauses others work, and what it reads then is of a later state. Missing where a connection
   * waits for each statement, so that others work anyway.
   */
  readonly readInSteps?: (<T>(operation: () => Operation<T>) => Promise<T>) | undefined;
  /** No transaction: one statement, or several of which each is atomic by itself and may be repeated. */
  single<T>(operation: () => Operation<T>): Promise<T>;
  /** The same for writes. */
  writeSingle<T>(operation: () => Operation<T>): Promise<T>;
  /** Runs `prepare` if it has not run yet. */
  ready(): Promise<void>;
  /** Refuses further calls, and waits for those that are under way. */
  close(): Promise<void>;
  /** Further statements run on what `wrap` makes of the connection. */
  observe(wrap: <C extends Connection>(connection: C) => C): void;
}

/** What is written before something is read, where there is something to write. */
export interface CatchUp {
  readonly isNeeded: () => Operation<boolean>;
  readonly work: () => Operation<void>;
}

export interface Preparation {
  /** One step of creating or upgrading the tables, true when none is left; when it fails, the next call goes on from there. */
  readonly prepare: () => Operation<boolean>;
  /** Tells that there is nothing to prepare, where one statement can; at once on a synchronous connection. */
  readonly isPrepared?: (() => boolean | Promise<boolean>) | undefined;
}

/** Lets the event loop turn between the calls of a connection that answers at once. */
export interface Breaks {
  /** Called before each call. */
  begin(): void;
  /** What the call is answered after, when its work is done; `isClosed` where the connection may be asked nothing. Null in general. */
  due(isClosed: boolean): Promise<void> | null;
}

/** For a connection that answers at once. */
export interface SyncOptions {
  /** Default: none. */
  readonly breaks?: Breaks | undefined;
  /** What it shares with the other connections of this process to the same database. Default: nothing. */
  readonly lane?: Lane | undefined;
}

export function createRunner(
  connection: Connection,
  name: string,
  { breaks, lane, ...preparation }: Preparation & SyncOptions,
): Runner {
  return connection.kind === "sync"
    ? syncRunner(connection, name, preparation, { breaks, lane })
    : asyncRunner(connection, name, preparation);
}

function syncRunner(
  given: SyncConnection,
  name: string,
  { prepare, isPrepared }: Preparation,
  { breaks, lane = ownLane() }: SyncOptions,
): Runner {
  let connection = given;
  let state: "new" | "ready" | "closed" = "new";
  const transact = <T>(mode: TransactionMode, operation: () => Operation<T>): MaybeLater<T> =>
    connection.begin === undefined
      ? connection.transaction(mode, () => driveSync(operation(), connection))
      : runInSteps(connection.begin(mode), operation(), () => connection);
  const ready = (): void => {
    if (state === "ready") return;
    if (state === "closed") throw closed(name);
    const step = () => connection.transaction("write", () => driveSync(prepare(), connection));
    for (let done = isPrepared?.() === true; !done; ) done = step();
    state = "ready";
  };
  // In general at once: calls made in one turn run in the order in which they were made. While one stays open, those made
  // meanwhile wait for it.
  const inLane = <T>(work: () => MaybeLater<T>): MaybeLater<T> => {
    const { queue, key } = lane;
    if (queue.has(key)) return queue.write(key, async () => work());
    const result = work();
    return result instanceof Promise ? queue.write(key, () => result) : result;
  };
  const answer = async <T>(work: () => MaybeLater<T>): Promise<T> => {
    breaks?.begin();
    try {
      const result = inLane(() => {
        ready();
        return work();
      });
      return result instanceof Promise ? await result : result;
    } finally {
      const turn = breaks?.due(state === "closed") ?? null;
      if (turn !== null) await turn;
    }
  };
  const call = <T>(mode: TransactionMode, operation: () => Operation<T>): Promise<T> =>
    answer(() => transact(mode, operation));
  let rested = Number.NEGATIVE_INFINITY;
  const isRested = () => performance.now() - rested < BUSY;
  const rest = async (): Promise<void> => {
    if (isRested()) return;
    await new Promise((resolve) => setTimeout(resolve));
    rested = performance.now();
  };
  const readInSteps = async <T>(operation: () => Operation<T>): Promise<T> => {
    const steps = operation();
    for (;;) {
      await rest();
      const step = await inLane(() => {
        ready();
        return connection.transaction("read", () => driveWhile(isRested, steps, connection));
      });
      if (step.done === true) return step.value;
    }
  };
  return {
    write: (operation, mode = "write") => call(mode, operation),
    read: (operation, first) =>
      answer(() => {
        const isBehind = first !== undefined && driveSync(first.isNeeded(), connection);
        const caughtUp = isBehind ? transact("write", first.work) : undefined;
        const read = () => transact("read", operation);
        return caughtUp instanceof Promise ? caughtUp.then(read) : read();
      }),
    readInSteps,
    single: (operation) => answer(() => driveSync(operation(), connection)),
    // Costs no round trip, and makes sure of the file.
    writeSingle: (operation) => call("write", operation),
    ready: async () => inLane(ready),
    close: async () =>
      inLane(() => {
        if (state === "closed") return;
        state = "closed";
        connection.close();
      }),
    observe: (wrap) => {
      connection = wrap(connection);
    },
  };
}

function asyncRunner(given: AsyncConnection, name: string, { prepare, isPrepared }: Preparation): Runner {
  let connection = given;
  let isClosed = false;
  const transact = <T>(mode: TransactionMode, operation: () => Operation<T>): Promise<T> =>
    connection.transaction(mode, (query) => driveAsync(operation(), query));
  let isReady = false;
  const prepareOnce = once(async (): Promise<void> => {
    for (let done = (await isPrepared?.()) === true; !done; ) done = await transact("idempotent", prepare);
    isReady = true;
  });
  const ready = (): Promise<void> => (isClosed ? Promise.reject(closed(name)) : prepareOnce());
  let running = 0;
  let ended: Deferred | null = null;
  const end = (): void => {
    running -= 1;
    if (running === 0) ended?.resolve();
  };
  // Nothing is waited for that is there: each call of an append costs as much as some of its work.
  const whenReady = <T>(work: () => Promise<T>): Promise<T> => {
    running += 1;
    const done = isReady && !isClosed ? work() : ready().then(work);
    done.then(end, end);
    return done;
  };
  const call = <T>(mode: TransactionMode, operation: () => Operation<T>): Promise<T> =>
    whenReady(() => transact(mode, operation));
  const single = <T>(operation: () => Operation<T>): Promise<T> =>
    whenReady(() => driveAsync(operation(), connection.query));
  return {
    write: (operation, mode = "write") => call(mode, operation),
    read: async (operation, first) => {
      if (first !== undefined && (await single(first.isNeeded))) await call("write", first.work);
      return call("read", operation);
    },
    single,
    writeSingle: single,
    ready: () => whenReady(async () => {}),
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      // A pool that was ended never answers who waits for one of its connections.
      if (running > 0) {
        ended = defer();
        await ended.promise;
      }
      await connection.close();
    },
    observe: (wrap) => {
      connection = wrap(connection);
    },
  };
}

/** The error of a call on a store that was closed. */
export function closed(name: string): StemmaError {
  return new StemmaError("STORE_CLOSED", { store: name }, `This ${name} store was closed; open a new one.`);
}
