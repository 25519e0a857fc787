import type { Io } from "./io.js";

export interface Progress {
  /** Shows how far it is; seldom enough to cost nothing. */
  show(text: string): void;
  /** Takes the line away again. */
  end(): void;
}

const INTERVAL = 100;

/** One line on standard error that tells how far a long work is; nothing where nobody reads along. */
export function createProgress(io: Io): Progress {
  let shown = 0;
  let dirty = false;
  return {
    show(text) {
      if (!io.isTerminal.error || Date.now() - shown < INTERVAL) return;
      shown = Date.now();
      dirty = true;
      io.writeError(`\r\u001b[K${text}`);
    },
    end() {
      if (dirty) io.writeError("\r\u001b[K");
      dirty = false;
    },
  };
}
