import { StemmaError } from "@stemma/model";
import type { AuditLog } from "./audit-log.js";
import type { GuardedCall } from "./guard.js";

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
