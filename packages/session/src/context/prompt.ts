import { atOnce, foldLabel, type Pieces } from "@stemma/model";
import type { ContextBlock } from "./block.js";
import { LINE_BREAKS } from "./label.js";

const RULE = "═".repeat(46);

/** The model's use of a block. */
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

/*
 * What keeps written text from being taken for the prompt's own lines. Each function has an inverse that gives back
 * exactly what went in, and leaves text without such look-alikes as it is.
 */

/** Runs of `═` at least this long are broken up; the prompt's own have 46. */
const LONG_RUN = 30;
/** No run is left longer than this. */
const SHORT_RUN = 20;

// One sign with the backslashes in front of it. (?<!\\) keeps the search linear in texts that are full of backslashes.
const bar = /(?<!\\)(\\*)═/g;

/** Breaks long runs of `═` with backslashes. */
export function escapeRuns(text: string): string {
  return replaceRuns(text, (slashes, place) => `${slashes}${slashes}${place % SHORT_RUN === 0 ? "\\" : ""}═`);
}

export function unescapeRuns(text: string): string {
  return replaceRuns(text, (slashes) => `${slashes.slice(0, Math.floor(slashes.length / 2))}═`);
}

// Rewrites each sign of the long runs. Escaping keeps the number of `═`, so both directions find the same runs. They are
// followed sign by sign: an expression for a whole run overflows the stack where a run has megabytes.
function replaceRuns(text: string, replace: (slashes: string, place: number) => string): string {
  if (!text.includes("═")) return text;
  const pieces: string[] = [];
  let done = 0;
  let run = { start: 0, end: -1, length: 0 };
  const finish = (): void => {
    if (run.length < LONG_RUN) return;
    let place = 0;
    const replaced = text.slice(run.start, run.end).replace(bar, (_, slashes: string) => replace(slashes, place++));
    pieces.push(text.slice(done, run.start), replaced);
    done = run.end;
  };
  for (const { 0: sign, index } of text.matchAll(bar)) {
    if (index !== run.end) {
      finish();
      run = { start: index, end: index, length: 0 };
    }
    run.end += sign.length;
    run.length += 1;
  }
  finish();
  return pieces.length === 0 ? text : pieces.join("") + text.slice(done);
}

// One visible sign for each character of LINE_BREAKS, in the same order.
const SIGNS = "⏎␍␋␌␜␝␞␤␊␟";
const breaks = new RegExp(String.raw`(?<!\\)(\\*)([${SIGNS}${LINE_BREAKS}])`, "gu");
const signs = new RegExp(String.raw`(?<!\\)(\\*)([${SIGNS}])`, "gu");

/** Writes a text on one line: a line break becomes `⏎`, what already is one gets a backslash in front. */
export function escapeLineBreaks(text: string): string {
  return text.replace(breaks, (_, slashes: string, character: string) => {
    const index = LINE_BREAKS.indexOf(character);
    return index < 0 ? `${slashes}${slashes}\\${character}` : `${slashes}${slashes}${SIGNS.charAt(index)}`;
  });
}

export function unescapeLineBreaks(text: string): string {
  return text.replace(signs, (_, slashes: string, sign: string) => {
    const half = slashes.slice(0, Math.floor(slashes.length / 2));
    return slashes.length % 2 === 1 ? half + sign : half + LINE_BREAKS.charAt(SIGNS.indexOf(sign));
  });
}

/** Puts a backslash before a bracket that follows a space: there the header goes on to what is not the label. */
export function escapeBrackets(label: string): string {
  return label.replace(/(?<= )\\*[([]/g, (found) => `\\${found}`);
}

export function unescapeBrackets(label: string): string {
  return label.replace(/(?<= )\\+[([]/g, (found) => found.slice(1));
}
