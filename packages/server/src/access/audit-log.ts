import { check, defineOptions, StemmaError } from "@stemma/model";
import { assertStore, listAll, type RecordScope, type Store } from "@stemma/store";
import type { GuardedCall } from "./guard.js";
import { randomText } from "./secrets.js";

/** A call that wrote, concerned the whole database, or was refused. */
export type AuditEntry = GuardedCall;

const AUDIT: RecordScope = { sessionId: "", label: "stemma:audit" };
const DAY = 86_400_000;
const REFUSED: ReadonlySet<string | null> = new Set(["FORBIDDEN", "SESSION_NOT_FOUND"]);
/** Entries that wait to be stored. */
const MOST_WAITING = 1_000;
/** Portions that are being stored. */
const MOST_WRITING = 10;

interface AuditLogOptions {
  /** Days that an entry stays. Default 90. */
  readonly days?: number | undefined;
  /** Gets what kept entries from being stored. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const AUDIT_LOG = defineOptions<AuditLogOptions>({ days: check.positive("days"), onError: check.callable });

/**
 * Stores who wrote what, and who was refused, without texts: pass its `note` to `guard` as `onCall`. Entries are stored together,
 * once in a second or a thousand of them; `flush` stores what waits, before the process ends. Errors: `STORE_UNSUPPORTED`,
 * `INVALID_ARGUMENT`.
 */
export class AuditLog {
  /** Tells the entries of several processes apart. */
  readonly #name = randomText(6);
  #waiting: AuditEntry[] = [];
  #number = 0;
  #writing = 0;
  #stored: Promise<void> = Promise.resolve();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly store: Store,
    private readonly options: AuditLogOptions = {},
  ) {
    assertStore(store, "AuditLog");
    AUDIT_LOG.assert(options, "AuditLog");
  }

  /** Notes a call, if it is one to be noted. */
  readonly note = (call: GuardedCall): void => {
    if (call.mode === "read" && !REFUSED.has(call.code)) return;
    // A store that stands still does not fill the memory: what comes then is told, and lost.
    if (this.#writing >= MOST_WRITING && this.#waiting.length >= MOST_WAITING) {
      this.options.onError?.(
        new StemmaError("STORE_FAILED", {}, "The audit log cannot be stored in time: an entry is lost."),
      );
      return;
    }
    this.#waiting.push(call);
    if (this.#waiting.length >= MOST_WAITING && this.#writing < MOST_WRITING) void this.flush();
    this.#timer ??= unref(setTimeout(() => void this.flush(), 1_000));
  };

  /** Stores what waits. Does not fail: what cannot be stored is told to `onError`. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const entries = this.#waiting;
    this.#waiting = [];
    if (entries.length > 0) {
      this.#writing += 1;
      this.#stored = this.#stored
        .then(() => this.#write(entries))
        .finally(() => {
          this.#writing -= 1;
        });
    }
    return this.#stored;
  }

  /** The entries, the newest first. */
  async *entries(): AsyncGenerator<AuditEntry> {
    const page = (asked: object) => this.store.records.list(AUDIT, { ...asked, descending: true });
    for await (const { value } of listAll(page, ({ key }) => key)) {
      yield JSON.parse(new TextDecoder().decode(value)) as AuditEntry;
    }
  }

  // Of entries of one millisecond the order is that of the calls.
  #nextNumber(): string {
    this.#number += 1;
    return String(this.#number).padStart(12, "0");
  }

  async #write(entries: readonly AuditEntry[]): Promise<void> {
    const { days = 90, onError } = this.options;
    const expiresAt = Date.now() + days * DAY;
    try {
      await this.store.writeTogether(
        entries.map((entry) => ({
          records: AUDIT,
          key: `${entry.at} ${this.#nextNumber()} ${this.#name}`,
          value: new TextEncoder().encode(JSON.stringify(entry)),
          options: { expiresAt },
        })),
      );
    } catch (error) {
      onError?.(error);
    }
  }
}

// A timer does not keep Node alive.
function unref<T>(timer: T): T {
  (timer as { unref?(): void }).unref?.();
  return timer;
}

/** Does what no guard sees, and notes who did it. */
export async function noted<T>(
  audit: Pick<AuditLog, "note"> | undefined,
  call: Omit<GuardedCall, "at" | "sessions" | "code">,
  work: () => Promise<T>,
): Promise<T> {
  let code: string | null = null;
  try {
    return await work();
  } catch (error) {
    code = StemmaError.isInstance(error) ? error.code : "INTERNAL";
    throw error;
  } finally {
    audit?.note({ at: new Date().toISOString(), sessions: [], ...call, code });
  }
}
