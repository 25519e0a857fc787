import { EXPORT_FORMATS as EXPORTED, findExportFormat } from "./formats/export-formats.js";
import { IMPORT_FORMATS as IMPORTED } from "./formats/formats.js";
import type { SessionInfo, Store } from "./storage/contract.js";

export { type ImportReport, importSession } from "./formats/import/import-session.js";
export { type ReadSessionsOptions, readSessionFile, readSessions } from "./formats/read.js";
export type { KeptPiece, ParsedMessage, ParsedSession, Position, Skipped } from "./formats/session-file.js";
