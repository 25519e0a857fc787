import { atOnce, foldLabel, type Pieces } from "@stemma/model";
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
  return atOnce(renderedPrompt(blocks));
}

/** Renders a prompt as `renderPrompt` does, in pieces. */
export function* renderedPrompt(blocks: readonly ContextBlock[]): Pieces<string> {
  const rendered: string[] = [];
  for (const block of blocks) {
    if (block.content !== "" || tagOf(block) !== "readonly") rendered.push(renderBlock(block));
    yield;
  }
  return rendered.join("\n\n");
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
  return Array.from(splitPrompt(text)).flatMap(({ header, content }) => {
    return header === null ? [] : { ...header, content: unescapeRuns(content) };
  });
}

/** Parses a prompt in pieces: the content of each block, by its folded label. */
export function* contentsOf(prompt: string): Pieces<Map<string, string>> {
  const contents = new Map<string, string>();
  for (const { header, content } of splitPrompt(prompt)) {
    if (header !== null) contents.set(header.label, unescapeRuns(content));
    yield;
  }
  return contents;
}

type PromptHeader = Omit<PromptBlock, "content">;

/** A block as it stands in a prompt, or what stands before the first one, without a header. */
interface PromptPiece {
  readonly header: PromptHeader | null;
  /** With the header. */
  readonly text: string;
  /** Without the header, as it is escaped. */
  readonly content: string;
}

/** Cuts a prompt into its blocks, one after the other. */
export function* splitPrompt(prompt: string): Generator<PromptPiece> {
  let header: PromptHeader | null = null;
  let [start, body] = [0, 0];
  const piece = (end?: number) => ({ header, text: prompt.slice(start, end), content: prompt.slice(body, end) });
  for (const match of prompt.matchAll(headed)) {
    if (match.index > 0) yield piece(match.index);
    header = parseHeader(match[1] ?? "");
    start = match.index;
    body = start + match[0].length;
  }
  if (prompt !== "") yield piece();
}

function parseHeader(line: string): PromptHeader {
  const [, title = "", tokens, maxTokens, tag] = headerForm.exec(line) ?? [];
  const open = title.endsWith(")") ? title.indexOf(" (") : -1;
  return {
    label: unescapeBrackets(open < 0 ? title : title.slice(0, open)),
    ...(open >= 0 && { description: unescapeLineBreaks(unescapeRuns(title.slice(open + 2, -1))) }),
    ...(tokens !== undefined && { usage: { tokens: Number(tokens), maxTokens: Number(maxTokens) } }),
    tag: (tag as BlockTag | undefined) ?? null,
  };
}
