import { StemmaError } from "../errors.js";
import { estimateStringTokens } from "./tokens.js";

/** Throws `BLOCK_OVER_BUDGET` for a content of more estimated tokens than the block holds. */
export function assertBudget(label: string, content: string, maxTokens: number): void {
  const tokens = estimateStringTokens(content);
  if (tokens <= maxTokens) return;
  const message = `That would make ${tokens} tokens in "${label}", which holds ${maxTokens}. Nothing was changed; write less, or replace the content with a shorter one.`;
  throw new StemmaError("BLOCK_OVER_BUDGET", { label, tokens, maxTokens }, message);
}
