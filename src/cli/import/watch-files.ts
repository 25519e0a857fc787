import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

export interface WatchFilesOptions {
  /** Ends the watch. */
  signal: AbortSignal;
  /** Milliseconds between two looks. Default 1000. */
  interval?: number | undefined;
}

/**
 * Calls `read` for each file that `list` names, and again whenever one has changed, until the signal ends it. Reading
 * takes at most a quarter of the time: after a look that took long, the next one waits longer.
 */
export async function watchFiles(
  list: () => Promise<readonly string[]>,
  read: (file: string) => Promise<void>,
  { signal, interval = 1000 }: WatchFilesOptions,
): Promise<void> {
  const seen = new Map<string, string>();
  while (!signal.aborted) {
    const started = Date.now();
    for (const file of await list()) {
      if (signal.aborted) return;
      const state = await stateOf(file);
      if (state === null || seen.get(file) === state) continue;
      seen.set(file, state);
      await read(file);
    }
    await pause(Math.max(interval, 3 * (Date.now() - started)), signal);
  }
}

/** A text that is another one once the file has changed; null for a file that is not there. */
async function stateOf(file: string): Promise<string | null> {
  try {
    const { size, mtimeMs } = await stat(file);
    return `${size} ${mtimeMs}`;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
