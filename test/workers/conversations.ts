import type * as worker from "./worker.js";
import type { WorkerDefinition } from "./workerd.js";

/** The worker of `worker.ts`. */
export const conversations: WorkerDefinition<typeof worker> = {
  entry: "worker.ts",
  objects: { ChatObject: true, AgentObject: true, CountedObject: true, KeyValueObject: false },
  buckets: ["SKILLS_BUCKET"],
};
