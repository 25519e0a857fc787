import { isJsonObject } from "../../model/json-object.js";
import { readLines } from "../read-lines.js";
import type { ImportFormat, Position, Skipped } from "../session-file.js";
import { findLine, parseLine } from "./codex-line.js";
import { CodexSession } from "./codex-session.js";

/** Rollouts of the Codex command line. A file is one session; its id is the one that its first line gives. */
export const codex: ImportFormat = {
  name: "codex",
  about: "Codex rollouts (JSONL): a session_meta, then an item or an event per line",
  recognises: (first) => isJsonObject(first) && findLine(first)?.type === "session_meta",
  // A file that begins later: with an item as the first versions wrote them.
  alsoReads: (first) => isJsonObject(first) && typeof first.type === "string" && typeof first.role === "string",
  async *read(items, file) {
    let session: CodexSession | null = null;
    const early: Skipped[] = [];
    const skip = (at: Position, why: string): void => {
      if (session === null) early.push({ ...at, why });
      else session.builder.skip(at, why);
    };
    for await (const { line, at, length } of readLines(items, parseLine, skip)) {
      if (session === null) {
        session = new CodexSession(line, file);
        for (const { why, ...place } of early) session.builder.skip(place, why);
      }
      session.add(line, at, length);
      if (session.builder.isFull) yield session.piece(false);
    }
    if (session !== null) yield session.piece(true);
  },
};
