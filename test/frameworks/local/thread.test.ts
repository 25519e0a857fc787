import { createRequire } from "node:module";
import { MessageChannel } from "node:worker_threads";
import { afterAll, describe, expect, it } from "vitest";
import type { FromThread, ModelSource, ToThread } from "../../../packages/local/src/thread/protocol.js";
import { serve } from "../../../packages/local/src/thread/serve.js";
import { findModels } from "../../local/models.js";

const models = findModels();

describe.skipIf(models === null)("what the thread of the models does", () => {
  const { port1: here, port2: there } = new MessageChannel();
  serve(there);
  afterAll(() => here.close());
  const ask = (message: ToThread & { id: number }) =>
    new Promise<FromThread>((resolve) => {
      here.once("message", resolve);
      here.postMessage(message);
    });
  const source: ModelSource = {
    transformers: createRequire(import.meta.url).resolve("@huggingface/transformers"),
    model: `${models}/all-MiniLM-L6-v2`,
    isFolder: true,
    hub: "",
    cache: "",
    dtype: "q8",
    file: "onnx/model_quantized.onnx",
    pooling: "cls",
  };

  it("answers until the model is unloaded", async () => {
    expect(await ask({ id: 1, load: source })).toMatchObject({ id: 1, info: { dimensions: 384 } });
    const task = { query: "cat", texts: ["a kitten"], deadline: Number.POSITIVE_INFINITY };
    expect(await ask({ id: 2, model: 1, task })).toMatchObject({ id: 2, numbers: { length: 1 } });
    expect(await ask({ id: 3, model: 1, task: { texts: ["a", "b"] } })).toMatchObject({ numbers: { length: 768 } });
    here.postMessage({ drop: 3 } satisfies ToThread);
    here.postMessage({ unload: 1 } satisfies ToThread);
    here.postMessage({ unload: 1 } satisfies ToThread);
    expect(await ask({ id: 4, model: 1, task })).toMatchObject({ id: 4, failure: { code: "MODEL_UNAVAILABLE" } });
  });

  it("tells of a model that cannot be loaded", async () => {
    const answer = await ask({ id: 5, load: { ...source, model: "/no/such/folder" } });
    expect(answer).toMatchObject({ id: 5, failure: { code: "MODEL_UNAVAILABLE" } });
  });
});
