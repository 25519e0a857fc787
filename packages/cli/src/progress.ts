import type { Io } from "./io.js";

export interface Progress {
  /** Shows how far it is; seldom enough to cost nothing. `done` is the share that is done, 0 to 1, where that is known. */
  show(text: string, done?: number): void;
  /** Takes the line away again. */
  end(): void;
}

const INTERVAL = 100;
const BAR = 20;

/** One line on standard error that tells how far a long work is; nothing where nobody reads along. */
export function createProgress(io: Io): Progress {
  const started = performance.now();
  let shown = 0;
  let dirty = false;
  return {
    show(text, done) {
      const now = performance.now();
      // What is done in a moment needs no bar.
      if (!io.isTerminal.error || now - shown < INTERVAL || now - started < INTERVAL) return;
      shown = now;
      dirty = true;
      const line = done === undefined ? text : `${bar(done)} ${text}`;
      io.writeError(`\r\u001b[K${line.slice(0, io.width - 1)}`);
    },
    end() {
      if (dirty) io.writeError("\r\u001b[K");
      dirty = false;
    },
  };
}

function bar(done: number): string {
  const full = Math.min(BAR, Math.floor(done * BAR));
  return `${"█".repeat(full)}${"░".repeat(BAR - full)} ${String(Math.floor(done * 100)).padStart(3)} %`;
}
