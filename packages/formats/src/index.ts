export { EXPORT_FORMATS, exportSession, findExportFormat } from "./export/export-formats.js";
export { addReports, type ImportReport, importSession } from "./import/import-session.js";
export { readItems } from "./json-items.js";
export { contentOfParts, outputOfText, partsOfContent, textOfOutput } from "./programs/openai/openai-content.js";
export type { KeptPiece, ParsedMessage, ParsedSession, Position, Skipped } from "./stemma/session-file.js";
export { stemmaJsonl } from "./stemma/stemma-jsonl.js";
export { exportJsonl, exportMemory, ownersOf } from "./stemma/store-lines.js";
export { splitSteps } from "./steps.js";
