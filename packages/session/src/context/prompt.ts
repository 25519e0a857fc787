import { foldLabel } from "@stemma/model";
import type { ContextBlock } from "./block.js";
import {
  escapeBrackets,
  escapeLineBreaks,
  escapeRuns,
  unescapeBrackets,
  unescapeLineBreaks,
  unescapeRuns,
} from "./block-text.js";

const RULE = "═".repeat(46);

/** What the model can do with a block. */
export type BlockTag = "readonly" | "writable" | "searchable" | "loadable";

/** A block as it stands in a rendered prompt. */
export interface PromptBlock {
  /** In upper case, as the prompt shows it. */
  label: string;
  description?: string;
  /** The budget, where the prompt shows one. */
  usage?: { tokens: number; maxTokens: number };
  /** Null in prompts that were rendered by a program without tags. */
  tag: BlockTag | null;
  content: string;
}

/**
 * The system prompt of these blocks, in their order. A read-only block without content is left out; the other kinds
 * always show, so that the model knows what its tools can address. Throws nothing.
 */
export function renderPrompt(blocks: readonly ContextBlock[]): string {
  return blocks
    .filter((block) => block.content !== "" || tagOf(block) !== "readonly")
    .map(renderBlock)
    .join("\n\n");
}

/** One block: its header between two lines, and its content. */
export function renderBlock(block: ContextBlock): string {
  return `${RULE}\n${header(block)}\n${RULE}\n${escapeRuns(block.content)}`;
}

function header(block: ContextBlock): string {
  let text = escapeBrackets(foldLabel(block.label));
  if (block.description) text += ` (${escapeRuns(escapeLineBreaks(block.description))})`;
  if (block.maxTokens !== undefined) {
    const percent = Math.round((block.tokens / block.maxTokens) * 100);
    text += ` [${percent}% — ${block.tokens}/${block.maxTokens} tokens]`;
  }
  return `${text} [${tagOf(block)}]`;
}

function tagOf(block: ContextBlock): BlockTag {
  if (block.isSearchable) return "searchable";
  if (block.isSkill) return "loadable";
  return block.writable ? "writable" : "readonly";
}

const headed = new RegExp(`(?:^|\\n\\n)${RULE}\\n([^\\n]*)\\n${RULE}(?:\\n|$)`, "g");
const headerForm = /^(.*?)(?: \[\d+% — (\d+)\/(\d+) tokens\])?(?: \[(readonly|writable|searchable|loadable)\])?$/s;

/**
 * The blocks of a prompt that `renderPrompt` made, each exactly as it was configured but for the case of its label.
 * Text that stands before the first header is not part of any block. A text that is no such prompt has no blocks. Throws nothing.
 */
export function parsePrompt(text: string): PromptBlock[] {
  const found = [...text.matchAll(headed)];
  return found.map((match, index) => {
    const content = text.slice(match.index + match[0].length, found[index + 1]?.index);
    return { ...parseHeader(match[1] ?? ""), content: unescapeRuns(content) };
  });
}

/** The text of each block of a prompt, with its folded label; what stands before the first one has the label "". */
export function splitPrompt(text: string): { label: string; text: string }[] {
  const found = [...text.matchAll(headed)];
  const before = text.slice(0, found[0]?.index);
  const pieces = found.map((match, index) => {
    return { label: parseHeader(match[1] ?? "").label, text: text.slice(match.index, found[index + 1]?.index) };
  });
  return before === "" ? pieces : [{ label: "", text: before }, ...pieces];
}

function parseHeader(line: string): Omit<PromptBlock, "content"> {
  const [, title = "", tokens, maxTokens, tag] = headerForm.exec(line) ?? [];
  const open = title.endsWith(")") ? title.indexOf(" (") : -1;
  return {
    label: unescapeBrackets(open < 0 ? title : title.slice(0, open)),
    ...(open >= 0 && { description: unescapeLineBreaks(unescapeRuns(title.slice(open + 2, -1))) }),
    ...(tokens !== undefined && { usage: { tokens: Number(tokens), maxTokens: Number(maxTokens) } }),
    tag: (tag as BlockTag | undefined) ?? null,
  };
}
