import { describeStudio } from "../../studio/describe-studio.js";
import { describeWorkerd, type WorkerDefinition } from "../../workers/workerd.js";

const studioWorker: WorkerDefinition<typeof import("../../workers/studio-worker.js")> = {
  entry: "studio-worker.ts",
  objects: { StudioObject: true },
};

describeWorkerd("a Durable Object with a studio", studioWorker, (workerd) => {
  let opened = 0;
  describeStudio("a Durable Object", async () => {
    opened += 1;
    const object = workerd.object("StudioObject", `studio ${opened}`);
    await object.fill();
    return { ask: (question) => object.ask(question), close: async () => {} };
  });
});
