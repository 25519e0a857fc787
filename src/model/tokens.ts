import type { SessionMessage } from "./message.js";

export function estimateStringTokens(text: string): number {
  return Math.ceil(text.length / 4);
}

export function estimateMessageTokens(message: SessionMessage): number {
  return 4 + message.parts.reduce((sum, part) => sum + estimateStringTokens(part.text ?? ""), 0);
}
