/** The longest pause between two tries, in milliseconds. */
const LONGEST_PAUSE = 2;

/** True of what a SQLite module throws where another connection holds the database. */
export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, errcode } = error as { code?: unknown; errcode?: unknown };
  if (typeof errcode === "number") return (errcode & 0xff) === 5 || (errcode & 0xff) === 6;
  const text = `${typeof code === "string" ? code : ""} ${error.message}`;
  return /SQLITE_BUSY|SQLITE_LOCKED|database (?:table )?is locked/.test(text);
}

/**
 * Tries until the database is free, for at most `patience` milliseconds, and then throws what the last try threw. The thread
 * waits, as it does in SQLite's own waiting. That sleeps for up to 100 ms between two tries, so it may miss every moment at
 * which busy writers let go; short pauses of random length meet one of the first.
 */
export function untilFree<T>(patience: number, attempt: () => T): T {
  const end = performance.now() + patience;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error) || performance.now() >= end) throw error;
    }
    Atomics.wait(sleeper(), 0, 0, Math.random() * LONGEST_PAUSE);
  }
}

let cell: Int32Array | undefined;

// Nobody wakes it.
function sleeper(): Int32Array {
  cell ??= new Int32Array(new SharedArrayBuffer(4));
  return cell;
}
