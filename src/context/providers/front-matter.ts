/** A Markdown file, taken apart. */
export interface FrontMatter {
  readonly entries: readonly FrontMatterEntry[];
  /** What follows the front matter; the whole text when there is none. */
  readonly body: string;
}

export interface FrontMatterEntry {
  readonly name: string;
  /** The text; null for lists, nested fields and what cannot be read. */
  readonly value: string | null;
  /** The lines as they stand. */
  readonly source: string;
}

const fence = /^---[ \t]*$/;
const field = /^([A-Za-z0-9_-]+):(?:[ \t]+(.*))?$/;

/**
 * Reads the YAML front matter of a skill: top-level `key: value` with plain, quoted, literal (`|`) and folded (`>`)
 * texts, over several lines too. Never throws: a line that is none of these is passed over.
 */
export function readFrontMatter(text: string): FrontMatter {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
  const end = fence.test(lines[0] ?? "") ? lines.findIndex((line, index) => index > 0 && fence.test(line)) : -1;
  if (end < 0) return { entries: [], body: text };
  const body = lines.slice(end + 1).join("\n");
  return { entries: readEntries(lines.slice(1, end)), body: body.replace(/^\n+/, "") };
}

/** The text of a field; undefined when it is not there or is no text. */
export function fieldOf({ entries }: FrontMatter, name: string): string | undefined {
  return entries.findLast((entry) => entry.name === name)?.value ?? undefined;
}

function readEntries(lines: readonly string[]): FrontMatterEntry[] {
  const entries: FrontMatterEntry[] = [];
  for (let at = 0; at < lines.length; at++) {
    const [, name, head = ""] = field.exec(lines[at] ?? "") ?? [];
    if (name === undefined) continue;
    let next = at + 1;
    // A list may stand below its field without being indented.
    while (next < lines.length && /^(?:[ \t]|- |-$|$)/.test(lines[next] ?? "")) next++;
    const below = lines.slice(at + 1, next);
    entries.push({ name, value: readValue(head, below), source: lines.slice(at, next).join("\n") });
    at = next - 1;
  }
  return entries;
}

function readValue(head: string, rest: readonly string[]): string | null {
  const start = head.trim();
  const block = /^([|>])([+-]|[1-9]|[+-][1-9]|[1-9][+-])?(?:\s+#.*)?$/.exec(start);
  if (block) return blockText(rest, block[1] === ">", block[2] ?? "");
  const lines = [start, ...rest.map((line) => line.trim())];
  const first = lines.findIndex((line) => line !== "" && !line.startsWith("#"));
  const text = lines.slice(first);
  if (first < 0 || isNested(text[0] ?? "", first > 0)) return null;
  if (text[0]?.startsWith('"')) return doubleQuoted(foldLines(text));
  if (text[0]?.startsWith("'")) return singleQuoted(foldLines(text));
  return foldLines(text.map(stripComment)).trim();
}

// Lists, mappings, anchors, tags. A list or a mapping in block form begins on a line of its own.
function isNested(start: string, onOwnLine: boolean): boolean {
  return /^[[{&*!]/.test(start) || (onOwnLine && /^- |^-$|^[^"'\s#][^#]*?:(?: |$)/.test(start));
}

// A "#" after a space starts a comment.
function stripComment(line: string): string {
  return line.replace(/(?:^|\s)#.*$/, "").trimEnd();
}

/** Joins lines as YAML folds them: one line break is a space, an empty line is a line break. */
function foldLines(lines: readonly string[]): string {
  let text = "";
  let breaks = 0;
  for (const [index, line] of lines.entries()) {
    if (line === "") {
      if (index > 0) breaks++;
      continue;
    }
    text += index === 0 || text === "" ? line : `${breaks > 0 ? "\n".repeat(breaks) : " "}${line}`;
    breaks = 0;
  }
  return text;
}

function blockText(lines: readonly string[], folded: boolean, indicator: string): string {
  const given = /[1-9]/.exec(indicator)?.[0];
  const indent = given ? Number(given) : indentOf(lines.find((line) => line.trim() !== "") ?? "");
  const content = lines.map((line) =>
    line.trim() === "" ? line.slice(indent) : line.slice(Math.min(indent, indentOf(line))),
  );
  let last = content.length;
  while (last > 0 && content[last - 1]?.trim() === "") last--;
  const text = folded ? foldBlock(content.slice(0, last)) : content.slice(0, last).join("\n");
  if (indicator.includes("-") || text === "") return text;
  return text + "\n".repeat(indicator.includes("+") ? content.length - last + 1 : 1);
}

/** Folds a block's lines; lines that are indented further keep their breaks. */
function foldBlock(lines: readonly string[]): string {
  let text = "";
  let blank = 0;
  let before: string | null = null;
  for (const line of lines) {
    if (line === "") {
      blank++;
      continue;
    }
    const keeps = before === null ? 0 : /^\s/.test(line) || /^\s/.test(before) ? 1 : null;
    text += (keeps === null ? (blank === 0 ? " " : "\n".repeat(blank)) : "\n".repeat(blank + keeps)) + line;
    before = line;
    blank = 0;
  }
  return text;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

function singleQuoted(text: string): string | null {
  const match = /^'((?:[^']|'')*)'\s*(?:#.*)?$/s.exec(text);
  return match ? (match[1] ?? "").replaceAll("''", "'") : null;
}

const ESCAPES: Record<string, string> = {
  "0": "\0",
  a: "\x07",
  b: "\b",
  t: "\t",
  n: "\n",
  v: "\v",
  f: "\f",
  r: "\r",
  e: "\x1b",
  N: "\x85",
  _: "\xa0",
  L: "\u2028",
  P: "\u2029",
};

function doubleQuoted(text: string): string | null {
  const match = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/s.exec(text);
  if (!match) return null;
  return (match[1] ?? "").replace(
    /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))/gs,
    (_, x?: string, u?: string, long?: string, character = "") => {
      const code = x ?? u ?? long;
      if (code === undefined) return ESCAPES[character] ?? character;
      const point = Number.parseInt(code, 16);
      return point > 0x10ffff ? "\uFFFD" : String.fromCodePoint(point);
    },
  );
}
