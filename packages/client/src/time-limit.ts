import { unlessAborted } from "@stemma/model";
import { lost } from "./failures.js";

export type TimeLimit = ReturnType<typeof timeLimit>;

/** Ends what takes too long, or what the caller no longer wants. */
export function timeLimit(milliseconds: number, outer: AbortSignal | undefined) {
  const controller = new AbortController();
  const { signal } = controller;
  const leave = () => controller.abort(outer?.reason);
  outer?.addEventListener("abort", leave);
  if (outer?.aborted) leave();
  return {
    signal,
    /** Gives a task the whole time. It fails when the time is over, also where it does not heed the signal. */
    async within<T>(task: Promise<T>): Promise<T> {
      const late = () => controller.abort(lost(`No answer came within ${milliseconds} ms.`));
      const timer = setTimeout(late, milliseconds);
      try {
        return await unlessAborted(task, signal);
      } finally {
        clearTimeout(timer);
      }
    },
    /** Ends it: what is still sent is cut. Where all came, to abort would only take time. */
    end(isWhole?: boolean) {
      outer?.removeEventListener("abort", leave);
      if (!isWhole) controller.abort();
    },
  };
}
