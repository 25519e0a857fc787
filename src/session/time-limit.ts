import { StemmaError } from "../errors.js";

/** How long a compact function may take unless it is told otherwise, in milliseconds. */
export const DEFAULT_COMPACTION_TIMEOUT = 120_000;

// Timers count in 31 bits. What may take 24 days may take for ever.
const LONGEST = 2 ** 31 - 1;

/** What `work` gives. Errors: `COMPACTION_TIMEOUT` after `timeout` milliseconds; what comes later is dropped. */
export async function withinTime<T>(work: Promise<T>, timeout: number): Promise<T> {
  if (timeout > LONGEST) return work;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(timedOut(timeout)), timeout);
    // No process goes on for it.
    (timer as { unref?: () => void }).unref?.();
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Errors: `INVALID_ARGUMENT` for what is no number of milliseconds above 0; `Infinity` is one. */
export function assertTimeout(timeout: unknown, call: string): void {
  if (timeout === undefined || (typeof timeout === "number" && timeout > 0)) return;
  throw new StemmaError("INVALID_ARGUMENT", {}, `The timeout of ${call} is a number of milliseconds above 0.`);
}

function timedOut(timeout: number): StemmaError {
  const message = `The compact function gave no answer within ${timeout} ms; nothing was stored. Pass onCompaction(compact, { timeout }) to wait longer.`;
  return new StemmaError("COMPACTION_TIMEOUT", { timeout }, message);
}
