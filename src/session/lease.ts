import { StemmaError } from "../errors.js";
import type { RecordCheck, RecordScope, RecordStore } from "../storage/contract.js";

const LEASE = "lease";

/** The right to do something alone. */
export interface Lease {
  /** Makes writes that are made with it fail with `RECORD_CONFLICT` where the right has ended: with the session, if that was deleted. */
  readonly held: RecordCheck;
  /** Gives it back. */
  release(): Promise<void>;
}

/** Takes it for so many milliseconds at most; null while another process has it. */
export async function takeLease(records: RecordStore, scope: RecordScope, duration: number): Promise<Lease | null> {
  try {
    const options = { expectedVersion: 0, expiresAt: Date.now() + duration };
    const { version } = await records.set(scope, LEASE, new Uint8Array(), options);
    return {
      held: { records: scope, key: LEASE, atVersion: version },
      async release() {
        try {
          await records.delete(scope, LEASE, { expectedVersion: version });
        } catch {
          // It has ended, or will by itself.
        }
      },
    };
  } catch (error) {
    if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return null;
    throw error;
  }
}
