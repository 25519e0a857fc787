import { StemmaError } from "@stemma/model";
import type { RetainOptions, RetentionReceipt, SessionManager } from "@stemma/session";
import type { CheckProblem, RecordScope, Store } from "@stemma/store";
import type { ObjectAlarms } from "./cloudflare.js";

const EVERY = 604_800_000;
const MOST_PROBLEMS = 20;
const LAST: RecordScope = { sessionId: "", label: "stemma:upkeep" };

/** The outcome of the last upkeep. */
export interface UpkeepReport {
  /** ISO time. */
  readonly at: string;
  /** False where the check found damage, and where a `code` says why it did not end. */
  readonly ok: boolean;
  readonly deleted?: RetentionReceipt["deleted"];
  /** The first 20. */
  readonly problems?: readonly CheckProblem[];
  readonly code?: string;
}

/** Once a week, removes what is too old of an object, and checks its database. */
export class Upkeep {
  #isPlanned = false;

  constructor(
    private readonly alarms: ObjectAlarms,
    private readonly store: Store,
    private readonly sessions: SessionManager,
    private readonly retention: RetainOptions,
  ) {}

  /** Sets the object's alarm, unless it is set. */
  async plan(): Promise<void> {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    if ((await this.alarms.getAlarm()) === null) await this.alarms.setAlarm(Date.now() + EVERY);
  }

  /** Does it. An object without sessions then sleeps until it is written to. */
  async run(onError?: (error: unknown) => void): Promise<void> {
    const report = await this.#report(onError);
    await this.store.records.set(LAST, "last", new TextEncoder().encode(JSON.stringify(report)));
    const { sessions } = await this.sessions.listPage({ limit: 1 });
    this.#isPlanned = sessions.length > 0;
    if (this.#isPlanned) await this.alarms.setAlarm(Date.now() + EVERY);
  }

  /** The report of the last one; null before the first. */
  async last(): Promise<UpkeepReport | null> {
    const record = await this.store.records.get(LAST, "last");
    return record === null ? null : (JSON.parse(new TextDecoder().decode(record.value)) as UpkeepReport);
  }

  async #report(onError?: (error: unknown) => void): Promise<UpkeepReport> {
    const at = new Date().toISOString();
    try {
      const { deleted } = await this.sessions.retain(this.retention);
      const check = await this.store.check?.();
      return { at, ok: check?.ok === true, deleted, problems: check?.problems.slice(0, MOST_PROBLEMS) ?? [] };
    } catch (error) {
      onError?.(error);
      return { at, ok: false, code: StemmaError.isInstance(error) ? error.code : "INTERNAL" };
    }
  }
}
