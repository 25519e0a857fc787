import type { ModelMessage } from "ai";
import { type ProviderName, rulesOf } from "./known-providers.js";
import { mendResult } from "./outputs.js";

type ToolMessage = Extract<ModelMessage, { role: "tool" }>;
type ToolPart = ToolMessage["content"][number];

/**
 * A mender of each message of one turn's steps: what tools of the turn gave comes as `repair` gives it in later turns. The
 * same message where nothing is to mend.
 */
export function stepResults(provider: ProviderName): <M>(message: M) => M {
  const rules = rulesOf(provider);
  // Each step has all results of those before.
  const known = new WeakMap<ToolPart, ToolPart>();
  const mended = (part: ToolPart): ToolPart => {
    if (part.type !== "tool-result" || part.output.type === "content" || !("value" in part.output)) return part;
    const value = mendResult(part.output.value, part.output.type === "text", rules);
    return value === part.output.value ? part : ({ ...part, output: { ...part.output, value } } as ToolPart);
  };
  const mendedOnce = (part: ToolPart): ToolPart => {
    const found = known.get(part) ?? mended(part);
    known.set(part, found);
    return found;
  };
  return (message) => {
    const { role, content } = message as ToolMessage;
    if (role !== "tool") return message;
    const parts = content.map(mendedOnce);
    return parts.every((part, index) => part === content[index]) ? message : { ...message, content: parts };
  };
}
