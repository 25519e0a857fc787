import type { ToolPart } from "../model/tool-parts.js";
import { oneLine } from "./text.js";

const MAX_SHOWN = 200;

/** A tool call and what came of it, on one line: `· set_context {"label":"memory"} → Replaced memory`. */
export function describeTool({ toolName, input, output, errorText, kind }: ToolPart, length = MAX_SHOWN): string {
  const call = kind === "result" ? "" : `· ${toolName ?? "tool"} ${asText(input ?? {})}`;
  if (kind === "call") return oneLine(call, length);
  const result = `→ ${errorText === null ? asText(output) : `error: ${errorText}`}`;
  const room = Math.max(20, length - Math.min(call.length, length >> 1) - 1);
  return [oneLine(call, length >> 1), oneLine(result, room)].filter((text) => text !== "").join(" ");
}

function asText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
