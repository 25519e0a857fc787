import { sleep } from "../deferred.js";
import { StemmaError } from "../errors.js";
import { decodeJson, encodeJson } from "../model/json-bytes.js";
import type { RecordCheck, RecordScope } from "../storage/contract.js";
import { isLeaseOver, type LeaseState, leaseEnd } from "./lease.js";
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
