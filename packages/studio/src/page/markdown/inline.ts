const DEEPEST = 6;
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
    const found = depth > DEEPEST ? null : partAt(text, special.index, depth);
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
