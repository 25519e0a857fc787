export type { CopiedPart, CopyOptions, CopyReport, CopySource, CopyTarget, Part, PartOf } from "./contract.js";
export { partName } from "./contract.js";
export { copyStore, exportStore } from "./copy-store.js";
export { jsonl } from "./jsonl-parts.js";
