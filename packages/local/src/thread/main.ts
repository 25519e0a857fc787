// What runs in the thread. The build makes one text of it, which `model-thread.ts` starts.
import { parentPort, workerData } from "node:worker_threads";
import { reasonOf, StemmaError } from "@stemma/model";
import { JobQueue } from "./job-queue.js";
import { loadModel } from "./load-model.js";
import { type FromThread, LOADED, type ToThread } from "./protocol.js";

const tell = (message: FromThread): void => parentPort?.postMessage(message);
const tellFailure = (id: number, error: unknown): void => {
  const code = StemmaError.isInstance(error) ? error.code : "MODEL_UNAVAILABLE";
  tell({ id, failure: { code, message: reasonOf(error) } });
};

async function main(): Promise<void> {
  const { encoder, digest } = await loadModel(workerData);
  const queue = new JobQueue(encoder, {
    answer: (id, numbers) => tell({ id, numbers }),
    fail: tellFailure,
  });
  parentPort?.on("message", (message: ToThread) => {
    if (typeof message === "number") queue.drop(message);
    else queue.add(message);
  });
  tell({ id: LOADED, info: { digest, dimensions: encoder.dimensions } });
}

main().catch((error) => tellFailure(LOADED, error));
