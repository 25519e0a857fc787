import { isJsonObject, isTooDeep, type JsonObject } from "../../model/json-object.js";
import { TOO_DEEP } from "../session-file.js";

/** What a line of a rollout says, whatever version of Codex wrote it. */
export interface RolloutLine {
  type: string;
  payload: JsonObject;
  line: JsonObject;
}

/** Reads a line, or gives why it cannot be. */
export function parseLine(value: unknown): RolloutLine | string {
  if (isTooDeep(value)) return TOO_DEEP;
  return (isJsonObject(value) ? findLine(value) : null) ?? "neither an item nor an event";
}

/** A line in the form that all versions have in common; null for what is none. */
export function findLine(line: JsonObject): RolloutLine | null {
  const { type, payload, id, timestamp } = line;
  if (typeof type === "string" && isJsonObject(payload)) return { type, payload, line };
  // The first versions wrote items as they are, behind a line with the session's id.
  const isItem = typeof type === "string" ? type !== "session" : typeof line.role === "string";
  if (isItem) return { type: "response_item", payload: line, line };
  if (line.record_type !== undefined) return { type: String(line.record_type), payload: line, line };
  const isMeta = type === undefined && typeof id === "string" && typeof timestamp === "string";
  return isMeta && "instructions" in line ? { type: "session_meta", payload: line, line } : null;
}
