import { FAILSAFE_SCHEMA, load, nullCoreTag } from "js-yaml";

/** A Markdown file, taken apart. */
export interface FrontMatter {
  readonly entries: readonly FrontMatterEntry[];
  /** The text behind the front matter; the whole text when there is none. */
  readonly body: string;
}

export interface FrontMatterEntry {
  /** In lower case. */
  readonly name: string;
  /** The text; null for none. */
  readonly value: string | null;
  /** True where the value is no text in YAML: then it is what stands there, without line breaks. */
  readonly isAsWritten: boolean;
  /** The lines as they stand. */
  readonly source: string;
}

const fence = /^---[ \t]*$/;
// What people write without a space is what they mean by it, of the fields that are shown.
const field = /^(?:([\w-]+)[ \t]*:(?=[ \t]|$)|(name|description):)(.*)$/i;

/**
 * Reads the YAML front matter of a skill, each top-level `key: value` for itself. So a line that is no YAML spoils no other
 * field, and is not lost. Never throws.
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
    const [, spaced, touching, head = ""] = field.exec(lines[at] ?? "") ?? [];
    const name = (spaced ?? touching)?.toLowerCase();
    if (name === undefined) continue;
    let next = at + 1;
    while (next < lines.length && !/^#/.test(lines[next] ?? "") && !field.test(lines[next] ?? "")) next++;
    const source = lines.slice(at, next).join("\n");
    entries.push({ name, ...readValue(`${source}\n`, head.trim()), source });
    at = next - 1;
  }
  return entries;
}

// Every scalar is the text that stands there, dates and numbers too. No field needs an alias.
const OPTIONS = { schema: FAILSAFE_SCHEMA.withTags(nullCoreTag), maxAliases: 0 };

// The value of the one field in `source`; `head` is what stands behind its name.
function readValue(source: string, head: string): Pick<FrontMatterEntry, "value" | "isAsWritten"> {
  try {
    const fields = load(source, OPTIONS);
    const [value] = typeof fields === "object" ? Object.values(fields ?? {}) : [{}];
    if (typeof value !== "object" || value === null) return { value: value ?? null, isAsWritten: false };
  } catch {
    // It is no YAML.
  }
  return { value: asWritten(source, head), isAsWritten: true };
}

function asWritten(source: string, head: string): string {
  // In an unquoted text YAML has comments.
  const comment = /^["'[{&*!|>]/.test(head) ? /$^/ : /(?:^|\s)#.*$/s;
  const lines = source.replace(/^[^:]*:/, "").split("\n");
  return lines
    .map((line) => line.replace(comment, "").trim())
    .join(" ")
    .trim();
}
