import { type StemmaError, unlessAborted } from "@stemma/model";

const LONGEST_PAUSE = 8_000;
/** Seconds. Whoever is told to wait longer is not kept waiting. */
const MOST_PATIENCE = 60;

/** Milliseconds until the next try, the first being 0; null for what is not tried again. A write has a key, and is done once. */
export function pauseBefore(attempt: number, { code, details }: StemmaError, firstPause: number): number | null {
  const { status = 0, retryAfter = 0 } = details as { status?: number; retryAfter?: number };
  const mayPass = code === "CONNECTION_LOST" || [429, 502, 503, 504].includes(status);
  if (!mayPass || retryAfter > MOST_PATIENCE) return null;
  return retryAfter * 1_000 + Math.random() * Math.min(LONGEST_PAUSE, firstPause * 2 ** attempt);
}

const NEVER = new AbortController().signal;

/** Waits, or rejects with the signal's reason when that is aborted. */
export function pause(milliseconds: number, signal: AbortSignal = NEVER): Promise<void> {
  return unlessAborted(new Promise((wake) => setTimeout(wake, milliseconds)), signal);
}
