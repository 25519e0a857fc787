import { FAILSAFE_SCHEMA, load, nullCoreTag } from "js-yaml";

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
 * Reads the YAML front matter of a skill, each top-level `key: value` for itself. So a line that is no YAML spoils no other
 * field. Never throws.
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
    const source = lines.slice(at, next).join("\n");
    entries.push({ name, value: readValue(`${source}\n`, head.trim()), source });
    at = next - 1;
  }
  return entries;
}

// Every scalar is the text that stands there, dates and numbers too. No field needs an alias.
const OPTIONS = { schema: FAILSAFE_SCHEMA.withTags(nullCoreTag), maxAliases: 0 };

/** The text of the one field in `source`; null when it has none. */
function readValue(source: string, head: string): string | null {
  for (const yaml of [source, asBlock(source, head)]) {
    try {
      const [value] = Object.values(load(yaml, OPTIONS) as object);
      return typeof value === "string" ? value : null;
    } catch {
      // The next one.
    }
  }
  return null;
}

/** An unquoted text as a folded block, where it may hold what YAML forbids outside: `description: Deploys: to production`. */
function asBlock(source: string, head: string): string {
  if (/^(?:["'[{&*!|>#]|$)/.test(head)) return source;
  const lines = source.replace(/^[^:]*:/, "").split("\n");
  return ["text: >-", ...lines.map((line) => `  ${line.replace(/(?:^|\s)#.*$/, "").trim()}`)].join("\n");
}
