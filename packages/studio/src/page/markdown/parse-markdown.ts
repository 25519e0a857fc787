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

const DEEPEST_INLINE = 6;
// What may begin something else than text.
const SPECIAL = /[\\`*_~[!<h\n]/g;
const CODE = /(`+)(?!`)([\s\S]{1,1000}?[^`])\1(?!`)|`([^`\n]{1,2000})`/y;
const BACKTICKS = /`+/y;
const STRONG = /\*\*(?=\S)([^\n]{1,1000}?)(?<=\S)\*\*(?!\*)|__(?=\S)([^\n]{1,1000}?)(?<=\S)__(?!\w)/y;
const EMPHASIS = /\*(?=[^\s*])([^\n*]{1,1000}?)(?<=\S)\*|_(?=[^\s_])([^\n_]{1,1000}?)(?<=\S)_(?!\w)/y;
const DELETED = /~~(?=\S)([^\n~]{1,1000}?)~~/y;
const LINK =
  /(!?)\[([^\]\n]{0,1000})\]\(\s{0,100}<?([^\s<>()]{1,2000}(?:\([^\s<>()]{0,500}\)[^\s<>()]{0,500})?)>?(?:\s{1,100}"[^"\n]{0,500}")?\s{0,100}\)/y;
const ADDRESS = /<?(https?:\/\/[^\s<>"'`\])}]{1,2000}[^\s<>"'`\])}.,;:!?])>?/y;
const ESCAPED = /\\([!-/:-@[-`{-~])/y;

/** The parts of one paragraph. Whatever is not well formed is text. */
export function parseInline(text: string, depth = 0): Inline[] {
  const parts: Inline[] = [];
  let begun = 0;
  let position = 0;
  const flush = (end: number) => {
    if (end > begun) parts.push({ kind: "text", text: text.slice(begun, end) });
  };
  while (position < text.length) {
    SPECIAL.lastIndex = position;
    const special = SPECIAL.exec(text);
    if (special === null) break;
    const found = depth > DEEPEST_INLINE ? null : partAt(text, special.index, depth);
    if (found === null) {
      // A run of backticks that begins no code begins none further on: each is tried once.
      BACKTICKS.lastIndex = special.index;
      position = BACKTICKS.test(text) ? BACKTICKS.lastIndex : special.index + 1;
      continue;
    }
    flush(special.index);
    parts.push(found.part);
    position = special.index + found.length;
    begun = position;
  }
  flush(text.length);
  return parts;
}

interface Found {
  readonly part: Inline;
  readonly length: number;
}

function partAt(text: string, position: number, depth: number): Found | null {
  const match = (pattern: RegExp) => {
    pattern.lastIndex = position;
    return pattern.exec(text);
  };
  const around = (kind: "strong" | "emphasis" | "deleted", found: RegExpExecArray | null): Found | null =>
    found && {
      part: { kind, children: parseInline(found[1] ?? found[2] ?? "", depth + 1) },
      length: found[0].length,
    };
  switch (text[position]) {
    case "\n":
      return { part: { kind: "break" }, length: 1 };
    case "\\": {
      const found = match(ESCAPED);
      return found && { part: { kind: "text", text: found[1] ?? "" }, length: found[0].length };
    }
    case "`": {
      const found = match(CODE);
      return found && { part: { kind: "code", text: found[2] ?? found[3] ?? "" }, length: found[0].length };
    }
    case "~":
      return around("deleted", match(DELETED));
    case "*":
      return around("strong", match(STRONG)) ?? around("emphasis", match(EMPHASIS));
    case "_":
      if (/\w/.test(text[position - 1] ?? "")) return null;
      return around("strong", match(STRONG)) ?? around("emphasis", match(EMPHASIS));
    case "!":
    case "[":
      return linkOf(match(LINK), depth);
    default:
      return addressOf(match(ADDRESS));
  }
}

function linkOf(found: RegExpExecArray | null, depth: number): Found | null {
  if (found === null) return null;
  const [whole, mark, label = "", target = ""] = found;
  const address = webAddress(target);
  const children = label === "" ? [{ kind: "text" as const, text: target }] : parseInline(label, depth + 1);
  // An address that no click may follow is shown as it was written.
  if (address === null) return { part: { kind: "text", text: whole }, length: whole.length };
  return { part: { kind: "link", address, isImage: mark === "!", children }, length: whole.length };
}

function addressOf(found: RegExpExecArray | null): Found | null {
  const [whole, target = ""] = found ?? [];
  const address = webAddress(target);
  if (whole === undefined || address === null) return null;
  const children = [{ kind: "text" as const, text: target }];
  return { part: { kind: "link", address, isImage: false, children }, length: whole.length };
}

/** The address as a browser reads it where it is one of http or https, else null. */
export function webAddress(text: string): string | null {
  if (!URL.canParse(text)) return null;
  const { protocol, href } = new URL(text);
  return protocol === "https:" || protocol === "http:" ? href : null;
}

export type Block =
  | { readonly kind: "paragraph"; readonly children: readonly Inline[] }
  | { readonly kind: "heading"; readonly level: number; readonly children: readonly Inline[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string }
  | { readonly kind: "quote"; readonly children: readonly Block[] }
  | { readonly kind: "list"; readonly start: number | null; readonly items: readonly (readonly Block[])[] }
  | {
      readonly kind: "table";
      readonly head: readonly (readonly Inline[])[];
      readonly rows: readonly (readonly (readonly Inline[])[])[];
    }
  | { readonly kind: "rule" };

export type Inline =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "code"; readonly text: string }
  | { readonly kind: "strong" | "emphasis" | "deleted"; readonly children: readonly Inline[] }
  /** `isImage`: it names an image elsewhere, which is never loaded. */
  | { readonly kind: "link"; readonly address: string; readonly isImage: boolean; readonly children: readonly Inline[] }
  | { readonly kind: "break" };
