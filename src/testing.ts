export type { ConformanceReport, TestRunner } from "./testing/describe-store.js";
export { describeStore } from "./testing/describe-store.js";
export { hashingEmbedder } from "./testing/hashing-embedder.js";
export type { Need, StoreTarget } from "./testing/target.js";
