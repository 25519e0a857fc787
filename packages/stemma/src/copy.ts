export type { CopiedPart, CopyOptions, CopyReport, CopySource, CopyTarget, Part, PartOf } from "@stemma/formats/copy";
export { copyStore, exportStore, jsonl } from "@stemma/formats/copy";
export type { MemoryOwner } from "@stemma/store";
