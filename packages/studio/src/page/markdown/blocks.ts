import type { Block, Inline } from "./inline.js";
import { parseInline } from "./inline.js";

const DEEPEST = 8;
const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^\s`]*)/;
const HEADING = /^ {0,3}(#{1,6})\s+(.*)$/s;
const CLOSING_MARKS = /(?<!#)#+$/;
const RULE = /^ {0,3}([-*_])(?:\s*\1){2,}\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^(\s{0,40})([-*+]|\d{1,9}[.)])(?:\s+|$)/;
const DIVIDER = /^\|?:?-+:?(?:\|:?-+:?)*\|?$/;

export function parseMarkdown(text: string): Block[] {
  return parseLines(text.replaceAll("\r\n", "\n").split("\n"), 0);
}

// Each reader takes the lines from `at` on, and gives the block with the line behind it.
type Reading = { readonly block: Block; readonly next: number };
type Reader = (lines: readonly string[], at: number, depth: number) => Reading | null;
const READERS: readonly Reader[] = [readCode, readHeading, readRule, readQuote, readList, readTable];

function parseLines(lines: readonly string[], depth: number): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const reading = readBlock(lines, at, depth) ?? readParagraph(lines, at, depth);
    blocks.push(reading.block);
    at = reading.next;
  }
  return blocks;
}

function readBlock(lines: readonly string[], at: number, depth: number): Reading | null {
  if (depth > DEEPEST) return null;
  for (const reader of READERS) {
    const reading = reader(lines, at, depth);
    if (reading !== null) return reading;
  }
  return null;
}

function readCode(lines: readonly string[], at: number): Reading | null {
  const fence = FENCE.exec(lines[at] ?? "");
  if (fence === null) return null;
  const [, mark = "", language = ""] = fence;
  let end = at + 1;
  while (end < lines.length && !closes(lines[end] ?? "", mark)) end += 1;
  return { block: { kind: "code", language, text: lines.slice(at + 1, end).join("\n") }, next: end + 1 };
}

function closes(line: string, mark: string): boolean {
  const text = line.trim();
  return text.length >= mark.length && text === (mark[0] ?? "").repeat(text.length);
}

function readHeading(lines: readonly string[], at: number): Reading | null {
  const heading = HEADING.exec(lines[at] ?? "");
  if (heading === null) return null;
  const [, marks = "", text = ""] = heading;
  return {
    block: {
      kind: "heading",
      level: marks.length,
      children: parseInline(text.trimEnd().replace(CLOSING_MARKS, "").trimEnd()),
    },
    next: at + 1,
  };
}

function readRule(lines: readonly string[], at: number): Reading | null {
  return RULE.test(lines[at] ?? "") ? { block: { kind: "rule" }, next: at + 1 } : null;
}

function readQuote(lines: readonly string[], at: number, depth: number): Reading | null {
  let end = at;
  while (end < lines.length && QUOTE.test(lines[end] ?? "")) end += 1;
  if (end === at) return null;
  const inner = lines.slice(at, end).map((line) => line.replace(QUOTE, ""));
  return { block: { kind: "quote", children: parseLines(inner, depth + 1) }, next: end };
}

function readList(lines: readonly string[], at: number, depth: number): Reading | null {
  const first = ITEM.exec(lines[at] ?? "");
  if (first === null) return null;
  const indent = first[1]?.length ?? 0;
  const isNumbered = /\d/.test(first[2] ?? "");
  const items: Block[][] = [];
  let next = at;
  for (;;) {
    const item = ITEM.exec(lines[next] ?? "");
    if (item === null || (item[1]?.length ?? 0) > indent + 1 || /\d/.test(item[2] ?? "") !== isNumbered) break;
    const end = endOfItem(lines, next, indent);
    const [head = "", ...rest] = lines.slice(next, end);
    items.push(parseLines([head.slice(item[0].length), ...outdented(rest, item[0].length)], depth + 1));
    next = end;
  }
  const start = isNumbered ? Number.parseInt(first[2] ?? "1", 10) : null;
  return { block: { kind: "list", start, items }, next };
}

// An item goes on with lines that stand further in, and with blank ones between those.
function endOfItem(lines: readonly string[], at: number, indent: number): number {
  let end = at + 1;
  while (end < lines.length) {
    const line = lines[end] ?? "";
    if (isBlank(line)) {
      const following = lines[end + 1] ?? "";
      if (isBlank(following) || (depthOf(following) <= indent && !ITEM.test(following))) break;
    } else if (depthOf(line) <= indent && (ITEM.test(line) || startsBlock(line) || isBlank(lines[end - 1]))) {
      break;
    }
    end += 1;
  }
  return end;
}

function outdented(lines: readonly string[], width: number): string[] {
  return lines.map((line) => line.slice(Math.min(depthOf(line), width)));
}

function readTable(lines: readonly string[], at: number): Reading | null {
  const [head = "", divider = ""] = lines.slice(at, at + 2);
  if (!head.includes("|") || !divider.includes("-") || !isDivider(divider)) return null;
  let end = at + 2;
  while (end < lines.length && !isBlank(lines[end]) && (lines[end] ?? "").includes("|")) end += 1;
  const columns = cellsOf(head).length;
  const rows = lines.slice(at + 2, end).map((line) => cellsOf(line).slice(0, columns));
  return { block: { kind: "table", head: cellsOf(head), rows }, next: end };
}

// Spaces may stand between its marks, but not within one.
function isDivider(line: string): boolean {
  return !/[-:]\s+[-:]/.test(line) && DIVIDER.test(line.replace(/\s+/g, ""));
}

function cellsOf(line: string): Inline[][] {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => parseInline(cell.trim().replaceAll("\\|", "|")));
}

function readParagraph(lines: readonly string[], at: number, depth: number): Reading {
  let end = at + 1;
  while (end < lines.length && !isBlank(lines[end]) && !(depth <= DEEPEST && startsBlock(lines[end] ?? ""))) end += 1;
  return { block: { kind: "paragraph", children: parseInline(lines.slice(at, end).join("\n")) }, next: end };
}

function startsBlock(line: string): boolean {
  return [FENCE, HEADING, RULE, QUOTE, /^\s*(?:[-*+]|1[.)])\s/].some((pattern) => pattern.test(line));
}

function depthOf(line: string): number {
  return line.length - line.trimStart().length;
}

function isBlank(line: string | undefined): boolean {
  return line === undefined || line.trim() === "";
}
