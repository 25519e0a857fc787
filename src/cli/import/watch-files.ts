import { stat } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { ifThere } from "../../files/if-there.js";

export interface WatchFilesOptions {
  /** Ends the watch. */
  signal: AbortSignal;
  /** Milliseconds between two looks. Default 1000. */
  interval?: number | undefined;
}

/**
 * Calls `read` for each file that `list` gives, and again whenever one has changed, until the signal ends it. A file for
 * which `read` resolves to false is read again at the next look. Reading takes at most a quarter of the time: after a look
 * that took long, the next one waits longer.
 */
export async function watchFiles<F extends { readonly path: string }>(
  list: () => Promise<readonly F[]>,
  read: (file: F) => Promise<boolean>,
  { signal, interval = 1000 }: WatchFilesOptions,
): Promise<void> {
  const seen = new Map<string, string>();
  while (!signal.aborted) {
    const started = performance.now();
    for (const file of await list()) {
      if (signal.aborted) return;
      const state = await stateOf(file.path);
      if (state === null || seen.get(file.path) === state) continue;
      if (await read(file)) seen.set(file.path, state);
    }
    await pause(Math.max(interval, 3 * (performance.now() - started)), signal);
  }
}

/** A text that is another one once the file has changed, or another one was put in its place; null for a file that is not there. */
async function stateOf(path: string): Promise<string | null> {
  const found = await ifThere(stat(path));
  return found === null ? null : `${found.size} ${found.mtimeMs} ${found.ino}`;
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(milliseconds, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
