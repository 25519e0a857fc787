import { StemmaError } from "../errors.js";
import type { RecordScope, RecordStore } from "../storage/contract.js";

const LEASE = "lease";

/** The right to do something alone, for so many milliseconds at most; null while another process has it. The result gives it back. */
export async function takeLease(
  records: RecordStore,
  scope: RecordScope,
  duration: number,
): Promise<(() => Promise<void>) | null> {
  try {
    const options = { expectedVersion: 0, expiresAt: Date.now() + duration };
    const { version } = await records.set(scope, LEASE, new Uint8Array(), options);
    return async () => {
      try {
        await records.delete(scope, LEASE, { expectedVersion: version });
      } catch {
        // It has ended, or will by itself.
      }
    };
  } catch (error) {
    if (StemmaError.isInstance(error, "RECORD_CONFLICT")) return null;
    throw error;
  }
}
