export { type ConformanceReport, describeStore, type TestRunner } from "./describe-store.js";
export { hashingEmbedder } from "./search/hashing-embedder.js";
export type { Need, StoreTarget } from "./target.js";
