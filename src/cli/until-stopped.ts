import { constants } from "node:os";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
type StopSignal = (typeof SIGNALS)[number];

/** Resolves when the user, or the system, ends the program. */
export async function untilStopped(): Promise<void> {
  await stoppable((signal) => new Promise<void>((stop) => signal.addEventListener("abort", () => stop())));
}

/**
 * Does work that Ctrl-C, or the system, may end early: that aborts the signal. A second Ctrl-C ends the process at once.
 */
export async function stoppable<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopped = new AbortController();
  const stop = (name: StopSignal): void => {
    release();
    stopped.abort(name);
  };
  const release = (): void => {
    for (const name of SIGNALS) process.off(name, stop);
  };
  for (const name of SIGNALS) process.on(name, stop);
  try {
    return await work(stopped.signal);
  } finally {
    release();
  }
}

/** The exit code of a program that this signal ended before it was done: 130 for Ctrl-C. */
export function exitCodeOf({ reason }: AbortSignal): number {
  return 128 + constants.signals[reason as StopSignal];
}
