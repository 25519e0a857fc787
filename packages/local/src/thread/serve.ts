import type { MessagePort } from "node:worker_threads";
import { reasonOf, StemmaError } from "@stemma/model";
import type { Encoder } from "./encoder.js";
import { JobQueue } from "./job-queue.js";
import { loadModel } from "./load-model.js";
import type { FromThread, ModelSource, ToThread } from "./protocol.js";

const closed = () => new StemmaError("MODEL_UNAVAILABLE", {}, "The local model was closed. Call localModel() again.");

/** Answers what comes through a port: what the thread of the models does. The build makes one text of it, see `scripts/local-thread.mjs`. */
export function serve(port: MessagePort): void {
  const tell = (message: FromThread): void => port.postMessage(message);
  const fail = (id: number, error: unknown): void => {
    const code = StemmaError.isInstance(error) ? error.code : "MODEL_UNAVAILABLE";
    tell({ id, failure: { code, message: reasonOf(error) } });
  };
  const models = new Map<number, Encoder>();
  const queue = new JobQueue({ answer: (id, numbers) => tell({ id, numbers }), fail });
  // One after the other: where a model is looked for is a setting of the whole library.
  let loading = Promise.resolve();

  const load = async (id: number, source: ModelSource): Promise<void> => {
    try {
      const { encoder, digest } = await loadModel(source);
      models.set(id, encoder);
      tell({ id, info: { digest, dimensions: encoder.dimensions } });
    } catch (error) {
      fail(id, error);
    }
  };

  const unload = (id: number): void => {
    const encoder = models.get(id);
    if (encoder === undefined) return;
    models.delete(id);
    queue.dropAll(encoder, closed());
    encoder.dispose().catch(() => {});
  };

  port.on("message", (message: ToThread) => {
    if ("load" in message) {
      loading = loading.then(() => load(message.id, message.load));
    } else if ("task" in message) {
      const encoder = models.get(message.model);
      if (encoder === undefined) fail(message.id, closed());
      else queue.add(message.id, encoder, message.task);
    } else if ("drop" in message) queue.drop(message.drop);
    else unload(message.unload);
  });
}
