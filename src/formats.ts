export { exportSession } from "./formats/export.js";
export type { ImportReport } from "./formats/import/import-session.js";
export { importSession } from "./formats/import/import-session.js";
export { type ReadFileOptions, type ReadSessionsOptions, readSessionFile, readSessions } from "./formats/read.js";
export type { KeptPiece, ParsedMessage, ParsedSession, Position, Skipped } from "./formats/session-file.js";
