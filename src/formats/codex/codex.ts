import { isJsonObject } from "../../model/json-object.js";
import type { ImportFormat, Skipped } from "../session-file.js";
import { findLine, parseLine } from "./codex-line.js";
import { CodexSession } from "./codex-session.js";

/** Rollouts of the Codex command line. A file is one session; its id is the one that its first line gives. */
export const codex: ImportFormat = {
  name: "codex",
  about: "Codex rollouts (JSONL): a session_meta, then an item or an event per line",
  recognises: (first) => isJsonObject(first) && findLine(first)?.type === "session_meta",
  async *read(items, file) {
    let session: CodexSession | null = null;
    const early: Skipped[] = [];
    for await (const item of items) {
      if (item.kind === "listEnd") continue;
      const { at } = item;
      const line = item.kind === "value" ? parseLine(item.value) : item.why;
      if (typeof line === "string" || item.kind === "problem") {
        const why = typeof line === "string" ? line : "";
        if (session === null) early.push({ ...at, why });
        else session.builder.skip(at, why);
        continue;
      }
      if (session === null) {
        session = new CodexSession(line, file);
        for (const { why, ...place } of early) session.builder.skip(place, why);
      }
      session.add(line, at, item.length);
      if (session.builder.isFull) yield session.builder.piece(false);
    }
    if (session !== null) yield session.builder.piece(true);
  },
};
