import { structuredPatch } from "diff/lib/patch/create.js";
/**
 * The text of a TOML file in which the table `[group.name]` has these texts and lists of texts. All other lines stay as they
 * are. Null for a text that cannot be changed that way: because it is no TOML, or keeps the table in another shape.
 */
export function withTable(
  text: string,
  group: string,
  name: string,
  fields: Readonly<Record<string, string | readonly string[]>>,
): string | null {
  const statements = findStatements(text);
  if (statements === null) return null;
  const line = text.includes("\r\n") ? "\r\n" : "\n";
  const path = [group, name];
  const heads = statements.filter(({ kind, key }) => kind === "table" && isSame(key, path));
  const [head] = heads;
  if (heads.length > 1 || hasOtherShape(statements, path)) return null;
  const pairs = Object.entries(fields).map(([key, value]) => [key, `${key} = ${JSON.stringify(value)}`] as const);
  if (head === undefined) {
    const added = [
      `[${group}.${/^[\w-]+$/.test(name) ? name : JSON.stringify(name)}]`,
      ...pairs.map(([, pair]) => pair),
    ];
    const before = text === "" ? "" : text.endsWith("\n") ? line : `${line}${line}`;
    return `${text}${before}${added.join(line)}${line}`;
  }
  const body = pairsBehind(statements, head);
  const missing = pairs.filter(([key]) => !body.some((each) => isSame(each.key, [key])));
  const known = body.filter(({ key }) => key.length === 1 && key[0] !== undefined && Object.hasOwn(fields, key[0]));
  const separator = text.endsWith("\n", head.end) || missing.length === 0 ? "" : line;
  const pieces = [text.slice(0, head.end), separator, ...missing.map(([, pair]) => pair + line)];
  let done = head.end;
  for (const { key, start, end } of known) {
    const pair = pairs.find(([own]) => own === key[0])?.[1] ?? "";
    const isSame = text.slice(start, end).trim() === pair;
    pieces.push(text.slice(done, start), isSame ? text.slice(start, end) : pair + line);
    done = end;
  }
  return pieces.join("") + text.slice(done);
}

function pairsBehind(statements: readonly TomlStatement[], head: TomlStatement): TomlStatement[] {
  const behind = statements.slice(statements.indexOf(head) + 1);
  const next = behind.findIndex(({ kind }) => kind !== "pair");
  return next < 0 ? behind : behind.slice(0, next);
}

// As a list of tables, or as a pair of a table above it: `mcp_servers = {…}`, `mcp_servers.name.command = …`.
function hasOtherShape(statements: readonly TomlStatement[], path: readonly string[]): boolean {
  let table: readonly string[] = [];
  return statements.some(({ kind, key }) => {
    if (kind === "list") {
      table = key;
      return isSame(key, path.slice(0, key.length));
    }
    if (kind === "table") {
      table = key;
      return false;
    }
    const whole = [...table, ...key];
    return (
      table.length < path.length && path.every((name, index) => whole[index] === undefined || whole[index] === name)
    );
  });
}

function isSame(key: readonly string[], path: readonly string[]): boolean {
  return key.length === path.length && key.every((name, index) => name === path[index]);
}

/** A table's head or a pair of a TOML file, and where it stands. Comments and blank lines are none. */
interface TomlStatement {
  readonly kind: "table" | "list" | "pair";
  /** The names of its key, without quotation marks. */
  readonly key: readonly string[];
  readonly start: number;
  /** Behind its last line. */
  readonly end: number;
}

const BLANK_LINE = /[ \t]*(?:#[^\n]*)?(?:\r?\n|$)/y;
const NAME = /[ \t]*(?:([\w-]+)|"((?:[^"\\\n]|\\.)*)"|'([^'\n]*)')[ \t]*/y;
/** A piece of a value that is none of the brackets that go on over lines. */
const PIECE = /"""[\s\S]*?"""+|'''[\s\S]*?'''+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|#[^\n]*|[^"'#[\]{}\n]+/y;

/** Reads the statements of a TOML file, as far as it takes to know where each begins and ends; null for what is no TOML. */
function findStatements(text: string): TomlStatement[] | null {
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

const CONTEXT = 2;
/** Lines that may differ: what it takes to find them grows with their square. */
const MOST_CHANGED = 1000;

/** The difference of two texts line by line: `-` and `+` before what goes and comes, with two lines around it. */
export function lineDifference(before: string, after: string): string[] {
  const options = { context: CONTEXT, stripTrailingCr: true, maxEditLength: MOST_CHANGED };
  const patch = structuredPatch("", "", ended(before), ended(after), "", "", options);
  if (patch === undefined) return ["  (more than can be shown)"];
  return patch.hunks.flatMap(({ lines }) => lines.map((line) => `${line.slice(0, 1)} ${line.slice(1)}`));
}

// How the last line ends does not count.
function ended(text: string): string {
  return text === "" ? "" : text.replace(/\r?\n?$/, "\n");
}
