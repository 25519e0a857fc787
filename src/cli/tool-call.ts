import type { ToolPart } from "../model/tool-parts.js";
import { oneLine } from "./text.js";

/** A tool call and what came of it, in at most `length` characters: `· set_context {"label":"memory"} → Replaced memory`. */
export function describeTool({ toolName, input, output, errorText, kind }: ToolPart, length: number): string {
  const call = kind === "result" ? "" : `· ${toolName ?? "tool"} ${asText(input ?? {})}`;
  if (kind === "call") return oneLine(call, length - 1);
  const result = `→ ${errorText === null ? asText(output) : `error: ${errorText}`}`;
  // Each has half of the room, and what the other does not need.
  const half = (length - 1) >> 1;
  const shownResult = oneLine(result, Math.max(half, length - 1 - oneLine(call, length).length) - 1);
  const shownCall = oneLine(call, length - 2 - shownResult.length);
  return [shownCall, shownResult].filter((text) => text !== "").join(" ");
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
