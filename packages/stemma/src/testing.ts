export type { ConformanceReport, Need, StoreTarget, TestRunner } from "@stemma/conformance";
export { describeStore, hashingEmbedder } from "@stemma/conformance";
