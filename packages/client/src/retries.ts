import { type StemmaError, unlessAborted } from "@stemma/model";

/**
 * Whether servers keep the `Idempotency-Key` of each write. Where they do not, a write whose answer was lost is not sent again: it
 * might take effect twice.
 */
const KEYS_ARE_KEPT: boolean = false;

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;
/** Seconds. Whoever is told to wait longer is not kept waiting. */
const MOST_PATIENCE = 60;

/** Milliseconds until the next try, the first being 0; null for what is not tried again. */
export function pauseBefore(attempt: number, { code, details }: StemmaError, isRead: boolean): number | null {
  const { status, retryAfter = 0 } = details as { status?: number; retryAfter?: number };
  // Of a lost connection to the database nobody knows whether it wrote before.
  const isUnknown = code === "CONNECTION_LOST" || status === 502 || status === 504;
  const mayPass = status === 429 || status === 503 || isUnknown;
  if (!mayPass || (isUnknown && !isRead && !KEYS_ARE_KEPT) || retryAfter > MOST_PATIENCE) return null;
  return retryAfter * 1_000 + Math.random() * Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** attempt);
}

const NEVER = new AbortController().signal;

/** Waits, or rejects with the signal's reason when that is aborted. */
export function pause(milliseconds: number, signal: AbortSignal = NEVER): Promise<void> {
  return unlessAborted(new Promise((wake) => setTimeout(wake, milliseconds)), signal);
}
