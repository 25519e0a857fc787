export type { CopiedPart, CopyOptions, CopyReport, CopySource, CopyTarget, Part, PartOf } from "./copy/contract.js";
export { copyStore } from "./copy/copy-store.js";
export { exportStore } from "./copy/export-store.js";
export { jsonl } from "./copy/jsonl.js";
export type { MemoryOwner } from "./storage/contract.js";
