import { isJsonObject } from "../../model/json-object.js";
import type { ImportFormat, Skipped } from "../session-file.js";
import { GeminiSession } from "./gemini-session.js";

/** Sessions of Gemini CLI: one object with all messages, or a line for the session and one for each message and change. */
export const gemini: ImportFormat = {
  name: "gemini",
  about: "Gemini CLI sessions (JSON or JSONL), from ~/.gemini/tmp/*/chats",
  recognises: isStart,
  async *read(items) {
    let session: GeminiSession | null = null;
    let early: Skipped[] = [];
    for await (const item of items) {
      if (item.kind === "listEnd") continue;
      const { at } = item;
      const value = item.kind === "value" ? item.value : null;
      if (isStart(value) && (session === null || "messages" in value)) {
        if (session !== null) yield* session.pieces();
        session = new GeminiSession(value, at);
        for (const { why, ...place } of early) session.builder.skip(place, why);
        early = [];
      } else if (item.kind === "value" && isJsonObject(value) && session !== null) session.add(value, at);
      else {
        const why = item.kind === "problem" ? item.why : "it stands before a session, or is no object";
        if (session === null) early.push({ ...at, why });
        else session.builder.skip(at, why);
      }
    }
    if (session !== null) yield* session.pieces();
  },
};

function isStart(value: unknown): value is Record<string, unknown> {
  if (!isJsonObject(value) || typeof value.sessionId !== "string" || value.sessionId === "") return false;
  return (
    typeof value.projectHash === "string" || (Array.isArray(value.messages) && typeof value.startTime === "string")
  );
}
