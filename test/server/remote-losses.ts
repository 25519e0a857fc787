import { lossyNetwork } from "./remote-target.js";

/** A network with losses; the topics on which it is tried are those of order, and of writes that are made once. */
export const LOSSY = (serve: Parameters<typeof lossyNetwork>[0]) =>
  lossyNetwork(serve, { lost: 0.05, doubled: 0.01, cut: 0.02, jitter: 2 });

const TOPICS = ["messages", "branches", "turns", "records", "concurrency", "order", "isolation", "asked again"];

/** STEMMA_LOSSES=all tries the whole suite on it. */
export const TOPICS_OF_LOSSES = process.env.STEMMA_LOSSES === "all" ? {} : { topics: TOPICS };
