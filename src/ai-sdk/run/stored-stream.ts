import type { UIMessageChunk } from "ai";
import { sleep } from "../../deferred.js";
import { isUnderWay, type RunState } from "../../session/run-record.js";
import type { RunLog } from "./log.js";

/** How often the answer of another process is looked at, in milliseconds. */
const POLL = 100;

/** The answer of a run of another process, from its start until it ends. `latest` gives the latest run of the session. */
export function storedStream(
  log: RunLog,
  runId: string,
  latest: () => Promise<RunState | null>,
): ReadableStream<UIMessageChunk> {
  let after: string | undefined;
  let isLeft = false;
  return new ReadableStream({
    async pull(controller) {
      while (!isLeft) {
        // Read before the chunks: what a run wrote last is there when it has ended.
        const state = await latest();
        const batches = await log.chunks(runId, after);
        after = batches.at(-1)?.key ?? after;
        for (const chunk of batches.flatMap(({ chunks }) => chunks)) controller.enqueue(chunk);
        if (batches.length > 0) return;
        if (state?.runId === runId && isUnderWay(state)) {
          await sleep(POLL);
          continue;
        }
        if (state?.runId === runId && state.status === "interrupted") controller.enqueue(INTERRUPTED);
        return controller.close();
      }
    },
    cancel() {
      isLeft = true;
    },
  });
}

const INTERRUPTED: UIMessageChunk = {
  type: "error",
  errorText: "The answer was interrupted: the server that wrote it has gone. Ask for it again to continue it.",
};
