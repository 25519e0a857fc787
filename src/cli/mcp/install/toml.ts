/** A table's head or a pair of a TOML file, and where it stands. Comments and blank lines are none. */
export interface TomlStatement {
  readonly kind: "table" | "list" | "pair";
  /** The names of its key, without quotation marks. */
  readonly key: readonly string[];
  readonly start: number;
  /** Behind its last line. */
  readonly end: number;
}

const BLANK_LINE = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
const NAME = /[ \t]*(?:([\w-]+)|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')[ \t]*/y;
/** What may stand in a value and is none of the brackets that go on over lines. */
const PIECE = /"""[\s\S]*?"""+|'''[\s\S]*?'''+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[^"'#[\]{}\n]+/y;

/** Reads the statements of a TOML file, as far as it takes to know where each begins and ends; null for what is no TOML. */
export function findStatements(text: string): TomlStatement[] | null {
  const found: TomlStatement[] = [];
  for (let at = text.startsWith("\ufeff") ? 1 : 0; at < text.length; ) {
    const blank = match(BLANK_LINE, text, at);
    if (blank !== null && blank[0] !== "") {
      at += blank[0].length;
      continue;
    }
    const statement = statementAt(text, at);
    if (statement === null) return null;
    found.push(statement);
    at = statement.end;
  }
  return found;
}

function statementAt(text: string, start: number): TomlStatement | null {
  const open = match(/[ \t]*(\[{0,2})/y, text, start)?.[1] ?? "";
  const key = keyAt(text, text.indexOf(open, start) + open.length);
  if (key === null) return null;
  const close = open === "" ? "=" : "]".repeat(open.length);
  if (!text.startsWith(close, key.end)) return null;
  const end = open === "" ? valueEnd(text, key.end + 1) : lineEnd(text, key.end + close.length);
  if (end === null) return null;
  const kind = open === "" ? "pair" : open === "[" ? "table" : "list";
  return { kind, key: key.names, start, end };
}

function keyAt(text: string, start: number): { names: string[]; end: number } | null {
  const names: string[] = [];
  for (let at = start; ; at += 1) {
    const name = match(NAME, text, at);
    if (name === null) return null;
    names.push(name[1] ?? name[2] ?? name[3] ?? "");
    at += name[0].length;
    if (text[at] !== ".") return { names, end: at };
  }
}

function lineEnd(text: string, at: number): number | null {
  const blank = match(BLANK_LINE, text, at);
  return blank === null ? null : at + blank[0].length;
}

// A value ends with its line, unless a bracket in it is open.
function valueEnd(text: string, start: number): number | null {
  let depth = 0;
  for (let at = start; at < text.length; ) {
    const character = text[at] as string;
    if (character === "\n") {
      at += 1;
      if (depth === 0) return at;
      continue;
    }
    if ("[{".includes(character)) depth += 1;
    else if ("]}".includes(character)) depth -= 1;
    const piece = "[]{}".includes(character) ? character : match(PIECE, text, at)?.[0];
    if (piece === undefined || depth < 0) return null;
    at += piece.length;
  }
  return depth === 0 ? text.length : null;
}

function match(pattern: RegExp, text: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(text);
}
