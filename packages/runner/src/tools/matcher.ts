import type { Worker } from "node:worker_threads";
import { invalid } from "@stemma/model";

/** How long all matching of one search may take, in milliseconds: expressions of a model can take forever. */
const LIMIT = 2000;
/** How many matches one call gives at most. */
const MAX_MATCHES = 50_000;

/** A pattern, or one text that it stands for beside that. */
export interface Pattern {
  readonly expression: RegExp;
  readonly exactly?: string | undefined;
}

/** A text that matches, and where it stands in those that were given. */
export interface Match {
  readonly index: number;
  readonly text: string;
}

// A thread can be ended in the middle of a match, and until then it holds up nobody.
const THREAD = `
const { parentPort, workerData: { expression, exactly, most } } = require("node:worker_threads");
parentPort.on("message", (message) => {
  const texts = typeof message === "string" ? message.split("\\n") : message;
  const found = [];
  for (let index = 0; index < texts.length && found.length < most; index += 1) {
    const text = texts[index];
    if (text === exactly || expression.test(text)) found.push({ index, text });
  }
  parentPort.postMessage(found);
});`;

/** Matches texts in a thread of its own, all of them together within two seconds. Node only. */
export class Matcher {
  #left = LIMIT;

  private constructor(
    private readonly thread: Worker,
    private readonly signal: AbortSignal | undefined,
  ) {}

  /** Does something with a matcher, and ends its thread. */
  static async use<T>(
    pattern: Pattern,
    signal: AbortSignal | undefined,
    work: (matcher: Matcher) => Promise<T>,
  ): Promise<T> {
    const { Worker } = await import("node:worker_threads");
    const thread = new Worker(THREAD, { eval: true, workerData: { ...pattern, most: MAX_MATCHES } });
    try {
      await new Promise((resolve, reject) => thread.once("online", resolve).once("error", reject));
      return await work(new Matcher(thread, signal));
    } finally {
      await thread.terminate();
    }
  }

  /** Those of some texts, or of the lines of a text, that match. Errors: `INVALID_ARGUMENT` when it took too long; the reason of an abort. */
  async match(texts: string | readonly string[]): Promise<Match[]> {
    const { thread, signal } = this;
    const began = performance.now();
    let ended = (): void => {};
    try {
      return await new Promise<Match[]>((resolve, reject) => {
        const timer = setTimeout(() => reject(tooLong()), Math.max(0, this.#left));
        const abort = () => reject(signal?.reason);
        signal?.addEventListener("abort", abort, { once: true });
        ended = () => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", abort);
          thread.off("message", resolve).off("error", reject);
        };
        thread.on("message", resolve).on("error", reject);
        signal?.throwIfAborted();
        thread.postMessage(texts);
      });
    } finally {
      ended();
      this.#left -= performance.now() - began;
    }
  }
}

function tooLong() {
  return invalid("The pattern takes too long to match; use a simpler one.", { milliseconds: LIMIT });
}
