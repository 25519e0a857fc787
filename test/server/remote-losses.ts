import { afterAll } from "vitest";
import { Random } from "../../reliability/tools/random.js";
import type { Choice } from "../describe-store.js";
import { type Fetch, lossyNetwork, type Networks } from "./remote-target.js";

const LOSSES = { lost: 0.05, doubled: 0.01, cut: 0.02, jitter: 2 };

/** The topics on which networks with losses are tried: of order, and of writes that are made once. */
export const OF_LOSSES: Choice = { differsIn: ["records", "concurrency", "order", "isolation", "asked again"] };

/** Networks with losses, the same for each run. Their counts are printed after the tests of the file. */
export function lossy(name: string): Networks {
  const random = new Random(1);
  const counts = { requests: 0, lost: 0, answersLost: 0, doubled: 0, cut: 0 };
  afterAll(() => console.log(`${name}: ${JSON.stringify(counts)}`));
  return (serve: Fetch, isFaulty) =>
    // A fault is told to the one of two requests, and the other may be done after it.
    lossyNetwork(serve, { ...LOSSES, ...(isFaulty && { doubled: 0 }) }, random, counts);
}
