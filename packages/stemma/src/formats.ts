export type { ImportReport, KeptPiece, ParsedMessage, ParsedSession, Position, Skipped } from "@stemma/formats";
export { exportSession, importSession } from "@stemma/formats";
export { type ReadFileOptions, type ReadSessionsOptions, readSessionFile, readSessions } from "@stemma/formats/read";
