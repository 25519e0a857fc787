import { findStatements, type TomlStatement } from "./toml.js";

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
