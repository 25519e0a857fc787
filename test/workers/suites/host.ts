// Stands for `test/documents/host.ts` in the worker: the samples run on the Durable Object and the bucket of their case.
export { modelThatSays } from "../../documents/host.js";

import { Agent as DurableObjectAgent, type TestContext } from "../agent.js";

interface Place {
  readonly ctx: TestContext;
  readonly bucket: object;
}

let place: Place | undefined;

/** Names the object in which the next case runs. */
export function enter(next: Place): void {
  place = next;
}

export function here(): Place {
  if (place === undefined) throw new Error("No case is running.");
  return place;
}

export class Agent<Env = Record<string, unknown>> extends DurableObjectAgent<Env> {
  constructor(env: Env = {} as Env) {
    super(here().ctx, env);
  }
}

const buckets = { used: false };

/** Whether a case made a bucket since this was last asked. */
export function bucketUsed(): boolean {
  const { used } = buckets;
  buckets.used = false;
  return used;
}

export class Bucket {
  constructor() {
    buckets.used = true;
    // biome-ignore lint/correctness/noConstructorReturn: the samples make a bucket where a worker is given one.
    return here().bucket;
  }
}
