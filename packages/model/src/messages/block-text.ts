import { StemmaError } from "../errors.js";
import { estimateStringTokens } from "./tokens.js";

/** Two labels name the same block when their folded forms are equal. It is also how the prompt shows a label. */
export function foldLabel(label: string): string {
  // Not every host is compiled against our types; what is no text is no block's label.
  return String(label).toUpperCase();
}

/** `text` at the end of `before`, on a new line: a line break comes between them unless `text` starts with one or either is empty. */
export function appendText(before: string, text: string): string {
  const joins = before === "" || text === "" || /^[\r\n]/.test(text);
  return joins ? before + text : `${before}\n${text}`;
}

/** Throws `BLOCK_OVER_BUDGET` for a content of more estimated tokens than the block holds. */
export function assertBudget(label: string, content: string, maxTokens: number): void {
  const tokens = estimateStringTokens(content);
  if (tokens > maxTokens) throw overBudget(label, tokens, maxTokens);
}

/** The error for a content of so many estimated tokens, where at most `maxTokens` may be. */
export function overBudget(label: string, tokens: number, maxTokens: number): StemmaError {
  const message = `That would make ${tokens} tokens in "${label}", which holds ${maxTokens}. Nothing was changed; write less, or replace the content with a shorter one.`;
  return new StemmaError("BLOCK_OVER_BUDGET", { label, tokens, maxTokens }, message);
}
