export type { CopiedPart, CopyOptions, CopyReport, CopySource, CopyTarget, Part, PartOf } from "./copy/contract.js";
export { copyStore, exportStore } from "./copy/copy-store.js";
export { jsonl } from "./copy/jsonl-parts.js";
export type { MemoryOwner } from "./storage/contract.js";
