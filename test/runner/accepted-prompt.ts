import type { LanguageModelV3Prompt } from "@ai-sdk/provider";

/** Throws when a call has no result, or a result no call: what a provider would refuse. */
export function assertAccepted(prompt: LanguageModelV3Prompt): void {
  const open = new Set<string>();
  for (const message of prompt) {
    if (message.role !== "tool" && open.size > 0) throw new RangeError(`No result of ${[...open].join(", ")}.`);
    if (typeof message.content === "string") continue;
    for (const part of message.content) {
      if (part.type === "tool-call") open.add(part.toolCallId);
      if (part.type === "tool-result" && !open.delete(part.toolCallId))
        throw new RangeError(`No call ${part.toolCallId}.`);
    }
  }
  if (open.size > 0) throw new RangeError(`No result of ${[...open].join(", ")}.`);
}
