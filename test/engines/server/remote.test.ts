import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeStore } from "../../describe-store.js";
import { lossyNetwork, remoteTarget } from "../../server/remote-target.js";

const target: StoreTarget = { name: "memory", open: () => memory(), capabilities: { durable: false } };

describeStore("memory", remoteTarget(target));

// What depends on the order of calls, and on each being made once. STEMMA_LOSSES=all does so with the whole suite.
const TOPICS = ["messages", "branches", "turns", "records", "concurrency", "order", "isolation", "asked again"];
const losses = { lost: 0.05, doubled: 0.01, cut: 0.02, jitter: 2 };
describeStore(
  "memory",
  remoteTarget({ ...target, name: "memory, with losses" }, (serve) => lossyNetwork(serve, losses)),
  process.env.STEMMA_LOSSES === "all" ? {} : { topics: TOPICS },
);
