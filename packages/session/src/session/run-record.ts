import { decodeJson, encodeJson, Recent, StemmaError, sleep } from "@stemma/model";
import type { KeptWrite, RecordCheck, RecordScope, RecordStore, Store } from "@stemma/store";
import type { Waiters } from "./compaction/time-limit.js";
import type { TurnRecords } from "./turn/log.js";
/** Of `running` and `stopping` a process says that it is at work; the others are the ends of a run. */
export type RunStatus = "running" | "stopping" | "completed" | "stopped" | "failed" | "interrupted";

/** The latest run of a session, as all processes see it. */
export interface RunState extends LeaseState {
  readonly runId: string;
  readonly status: RunStatus;
  /** The message that is answered: the parent of the answer. Null for an answer without one. */
  readonly questionId: string | null;
  /** The message that holds the answer. */
  readonly answerId: string;
  /** The leaf that becomes the active one again if nothing is answered; null where the question stays that. */
  readonly leafBefore: string | null;
}

export interface KnownRun {
  readonly state: RunState;
  readonly version: number;
}

const RUN = "run";
const LABEL = "chat";

/** The latest run of a session, in the session's records. */
export class RunRecord {
  protected readonly scope: RecordScope;

  constructor(
    protected readonly records: TurnRecords,
    sessionId: string,
  ) {
    this.scope = { sessionId, label: LABEL };
  }

  async read(): Promise<KnownRun | null> {
    const record = await this.records.get(this.scope, RUN);
    return record === null ? null : { state: decodeJson(record.value) as RunState, version: record.version };
  }

  /** Writes over the version that the caller knows, 0 for none. Null when another process was faster. */
  async write(state: RunState, expectedVersion: number): Promise<KnownRun | null> {
    try {
      const { version } = await this.records.set(this.scope, RUN, encodeJson(state), { expectedVersion });
      return { state, version };
    } catch (error) {
      if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return null;
      throw error;
    }
  }

  /** Breaks a run off, whichever process is at work on it. False when it is not under way. */
  async stop(runId: string): Promise<boolean> {
    for (;;) {
      const known = await this.read();
      if (known === null || known.state.runId !== runId || !isUnderWay(known.state)) return false;
      if (await this.isDead(known)) return false;
      if (known.state.status === "stopping") return true;
      const state = { ...known.state, status: "stopping" } as const;
      if ((await this.write(state, known.version)) !== null) return true;
    }
  }

  /** When the lease of a run ends that is written now. */
  leaseEnd(lease: number): Promise<number | null> {
    return leaseEnd(this.records, lease);
  }

  /** The time by the database's clock; null where it has none. */
  async time(): Promise<ToldTime | null> {
    return this.records.now === undefined ? null : new ToldTime(await this.records.now());
  }

  /** True for a run whose process died. */
  async isDead({ state, version }: KnownRun): Promise<boolean> {
    return isUnderWay(state) && (await isLeaseOver(this.records, state, version));
  }

  /** Makes writes that are made together with it fail with `RECORD_CONFLICT` where the record no longer has this version. */
  asOf(atVersion: number): RecordCheck {
    return { records: this.scope, key: RUN, atVersion };
  }
}

/** How often is looked whether a run has ended, in milliseconds. */
const POLL = 50;

/** Breaks off the run that is under way, if there is one, and waits until it has ended: at most so many milliseconds. */
export async function endRun(records: TurnRecords, sessionId: string, timeout: number): Promise<void> {
  const record = new RunRecord(records, sessionId);
  const end = performance.now() + timeout;
  for (let known = await record.read(); known !== null; known = await record.read()) {
    if (!(await record.stop(known.state.runId)) || performance.now() > end) return;
    await sleep(POLL);
  }
}

/** True for a run that some process may still be at work on. */
export function isUnderWay({ status }: RunState): boolean {
  return status === "running" || status === "stopping";
}

/** The process that is at work under a lease, which writes the record anew as long as it lives. */
interface LeaseState {
  /** Another one for each process that took it. */
  readonly owner: string;
  /** How long the owner counts as alive after it last wrote the record, in milliseconds. */
  readonly lease: number;
  /** Until when that is, in milliseconds since 1970 by the database's clock; null where it has none. */
  readonly leaseUntil: number | null;
}

/** A version that this process saw, and for how long it has not changed. */
interface Sight {
  readonly version: number;
  readonly at: number;
  readonly unchanged: number;
}

type Clock = Pick<RecordStore, "now">;

/** The leases that this process saw, by their owners. */
const seen = new Recent<Sight>(10_000);

/** A time that a database told. It goes on by this process's monotonic clock, so that nobody has to ask again soon. */
export class ToldTime {
  readonly #at = performance.now();

  constructor(private readonly told: number) {}

  /** The time in so many milliseconds. */
  in(milliseconds: number): number {
    return this.told + Math.floor(performance.now() - this.#at) + milliseconds;
  }
}

/** When a lease ends that is written now: `LeaseState.leaseUntil`. */
export async function leaseEnd(records: Clock, lease: number): Promise<number | null> {
  return records.now === undefined ? null : (await records.now()) + lease;
}

/**
 * True for a lease whose owner has not written its record for so long that it counts as dead. The database's clock tells it,
 * where it has one. Elsewhere this process does, once it saw one version for as long as the lease by its own monotonic clock:
 * so whoever needs an answer asks again and again. Clocks of two machines are never compared.
 */
export async function isLeaseOver(
  records: Clock,
  { owner, lease, leaseUntil }: LeaseState,
  version: number,
): Promise<boolean> {
  if (leaseUntil !== null && records.now !== undefined) return leaseUntil < (await records.now());
  const at = performance.now();
  const before = seen.get(owner);
  const isSame = before?.version === version;
  // Between two looks this process may have stood still, and the owner with it.
  const unchanged = isSame ? before.unchanged + Math.min(at - before.at, lease / 2) : 0;
  seen.set(owner, { version, at, unchanged });
  return unchanged >= lease;
}

/** When a lease was last renewed, for its owner. */
export class Renewal {
  readonly #at = performance.now();
  readonly #time = Date.now();

  constructor(private readonly lease: number) {}

  /** True once it is time to renew it. The wall clock goes on while a machine sleeps; where it jumps, that costs a write. */
  get isDue(): boolean {
    return Math.max(performance.now() - this.#at, Date.now() - this.#time) > this.lease / 2;
  }

  /** True once others may have taken it. */
  get isOver(): boolean {
    return performance.now() - this.#at > this.lease;
  }
}

const KEY = "lease";
const LEASE = 10_000;
const TICK = 500;

/** The right to do something alone, which is renewed until it is given back. Writes are made one after the other. */
export class Lease {
  #before: Promise<unknown> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  constructor(
    private readonly store: Store,
    private readonly scope: RecordScope,
    private held: HeldLease,
  ) {
    this.#schedule();
  }

  /** Makes writes, all of them or none. Errors: `RECORD_CONFLICT` where the right is another one's, or gone with its session; those of the writes. */
  write(writes: readonly KeptWrite[]): Promise<void> {
    return this.#inOrder(async () => {
      const held = { records: this.scope, key: KEY, atVersion: this.held.version };
      await this.store.writeTogether([held, ...writes]);
    });
  }

  /** Gives it back. */
  async release(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    await this.#inOrder(async () => {
      await this.store.records.delete(this.scope, KEY, { expectedVersion: this.held.version });
    }).catch(() => {
      // It has ended, or will by itself.
    });
  }

  #schedule(): void {
    if (this.#isOver) return;
    this.#timer = setTimeout(() => this.#tick().then(() => this.#schedule()), TICK);
    // No process goes on for it.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  async #tick(): Promise<void> {
    if (!this.held.renewal.isDue) return;
    await this.#inOrder(async () => {
      const held = await writeLease(this.store.records, this.scope, this.held.owner, this.held.version);
      if (held === null) this.#isOver = true;
      else this.held = held;
    }).catch(() => {
      // The store may answer the next time.
    });
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#before.then(work);
    this.#before = done.catch(() => {});
    return done;
  }
}

interface HeldLease {
  readonly owner: string;
  readonly version: number;
  readonly renewal: Renewal;
}

/**
 * Takes the right to do something; null while another process has it. Where that one may have died, this waits until it is
 * known, for somewhat more than the lease of 10 s, unless `waits` is false.
 */
export async function takeLease(
  store: Store,
  scope: RecordScope,
  waiters: Waiters,
  waits = true,
): Promise<Lease | null> {
  const { records } = store;
  for (let first: number | undefined; ; await waiters.sleep(TICK)) {
    const found = await records.get(scope, KEY);
    if (found !== null) {
      first ??= found.version;
      if (found.version !== first) return null;
      if (!(await isLeaseOver(records, decodeJson(found.value) as LeaseState, found.version))) {
        if (waits) continue;
        return null;
      }
    }
    const held = await writeLease(records, scope, crypto.randomUUID(), found?.version ?? 0);
    return held === null ? null : new Lease(store, scope, held);
  }
}

// Null where another process was faster.
async function writeLease(
  records: RecordStore,
  scope: RecordScope,
  owner: string,
  expectedVersion: number,
): Promise<HeldLease | null> {
  const renewal = new Renewal(LEASE);
  const state: LeaseState = { owner, lease: LEASE, leaseUntil: await leaseEnd(records, LEASE) };
  try {
    const { version } = await records.set(scope, KEY, encodeJson(state), { expectedVersion });
    return { owner, version, renewal };
  } catch (error) {
    if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return null;
    throw error;
  }
}
