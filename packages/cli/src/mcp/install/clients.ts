import { posix, win32 } from "node:path";
import { isJsonObject, type JsonObject, sameJson } from "@stemma/model";
import { getNodeValue, type Node, type ParseError, parseTree } from "jsonc-parser";
import { withTable } from "./toml-edit.js";
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How a client starts the server. */
export interface Start {
  readonly command: string;
  readonly args: readonly string[];
}

/** A program that MCP servers are configured for in a file. */
export interface McpClient {
  /** As its makers call it. */
  readonly title: string;
  fileOn(machine: Machine): string;
  /** The file's text with a server of this name; null where it cannot be changed without losing something. */
  withServer(text: string, name: string, start: Start): string | null;
}

const jsonClient = (title: string, group: string, fileOn: McpClient["fileOn"], more: JsonObject = {}): McpClient => ({
  title,
  fileOn,
  withServer: (text, name, { command, args }) => withMember(text, group, name, { ...more, command, args }),
});

/** The clients by the name that the command line knows them by. */
export const CLIENTS: Readonly<Record<string, McpClient>> = {
  "claude-code": jsonClient(
    "Claude Code",
    "mcpServers",
    (machine) => join(machine, machine.env.CLAUDE_CONFIG_DIR || machine.home, ".claude.json"),
    { type: "stdio" },
  ),
  "claude-desktop": jsonClient("Claude Desktop", "mcpServers", (machine) =>
    join(machine, settings(machine), "Claude", "claude_desktop_config.json"),
  ),
  cursor: jsonClient("Cursor", "mcpServers", (machine) => join(machine, machine.home, ".cursor", "mcp.json")),
  vscode: jsonClient("VS Code", "servers", (machine) => join(machine, settings(machine), "Code", "User", "mcp.json"), {
    type: "stdio",
  }),
  codex: {
    title: "Codex",
    fileOn: (machine) => join(machine, machine.env.CODEX_HOME || join(machine, machine.home, ".codex"), "config.toml"),
    withServer: (text, name, { command, args }) => withTable(text, "mcp_servers", name, { command, args }),
  },
};

/**
 * How a server with these arguments is started. Windows starts npx by its shell only. A server on Postgres needs a client of
 * it, which a stemma that npx fetches does not bring.
 */
export function startOf({ platform }: Machine, args: readonly string[], isPostgres = false): Start {
  const packages = isPostgres ? ["--package=stemma", "--package=pg"] : [];
  const npx = ["-y", ...packages, "stemma", "mcp", ...args];
  return platform === "win32" ? { command: "cmd", args: ["/c", "npx", ...npx] } : { command: "npx", args: npx };
}

// Where programs with windows keep a user's settings.
function settings(machine: Machine): string {
  const { platform, home, env } = machine;
  if (platform === "darwin") return join(machine, home, "Library", "Application Support");
  if (platform === "win32") return env.APPDATA || join(machine, home, "AppData", "Roaming");
  return env.XDG_CONFIG_HOME || join(machine, home, ".config");
}

function join({ platform }: Machine, ...names: string[]): string {
  return (platform === "win32" ? win32 : posix).join(...names);
}

/**
 * The text of a JSON file in which the object `group` has a member `name` with these fields. Everything else stays as it is,
 * comments and other fields of the member too. Null for a text that cannot be changed that way.
 */
export function withMember(text: string, group: string, name: string, fields: JsonObject): string | null {
  const style = styleOf(text);
  if (text.replace("\ufeff", "").trim() === "")
    return `${render({ [group]: { [name]: fields } }, "", style)}${style.line}`;
  const root = findObject(text);
  if (root === null) return null;
  const [, outer] = memberOf(root, group)?.children ?? [];
  if (outer === undefined) return withNewMember(text, root, group, { [name]: fields }, style);
  if (outer.type !== "object") return null;
  const member = memberOf(outer, name);
  const [, present] = member?.children ?? [];
  if (member === undefined || present === undefined) return withNewMember(text, outer, name, fields, style);
  const before: unknown = getNodeValue(present);
  const value = isJsonObject(before) ? { ...before, ...fields } : fields;
  if (sameJson(value, before)) return text;
  const indent = indentAt(text, member.offset) ?? "";
  return text.slice(0, present.offset) + render(value, indent, style) + text.slice(endOf(present));
}

/** Reads an object in which comments and commas behind the last member may stand; null for anything else. */
function findObject(text: string): Node | null {
  const errors: ParseError[] = [];
  try {
    // A blank in the place of a byte order mark, so that all places stay.
    const root = parseTree(text.replace(/^\ufeff/, " "), errors, { allowTrailingComma: true });
    return errors.length === 0 && root?.type === "object" ? root : null;
  } catch (error) {
    // Nested too deeply.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

// Of several with one name the last counts, as it does for who reads the file.
function memberOf(object: Node, name: string): Node | undefined {
  return object.children?.findLast(({ children: [key] = [] }) => key?.value === name);
}

function endOf({ offset, length }: Node): number {
  return offset + length;
}

interface Style {
  readonly unit: string;
  readonly line: string;
}

// As the file has it: what is added looks like the rest.
function styleOf(text: string): Style {
  const unit = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  return { unit, line: text.includes("\r\n") ? "\r\n" : "\n" };
}

function render(value: unknown, indent: string, { unit, line }: Style): string {
  return JSON.stringify(value, null, unit).replaceAll("\n", `${line}${indent}`);
}

function withNewMember(text: string, object: Node, name: string, value: unknown, style: Style): string {
  const last = object.children?.at(-1);
  const own = last === undefined ? undefined : indentAt(text, last.offset);
  if (last !== undefined && own === undefined) {
    // All on one line.
    return insert(text, endOf(last), `, ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  }
  const outer = lineIndent(text, object.offset);
  const indent = own ?? outer + style.unit;
  const member = `${style.line}${indent}${JSON.stringify(name)}: ${render(value, indent, style)}`;
  if (last !== undefined) return insert(text, endOf(last), `,${member}`);
  const rest = text.slice(object.offset + 1, endOf(object) - 1);
  return insert(
    text,
    object.offset + 1,
    rest.trim() === "" && !rest.includes("\n") ? `${member}${style.line}${outer}` : member,
  );
}

function insert(text: string, at: number, added: string): string {
  return text.slice(0, at) + added + text.slice(at);
}

/** The indentation before a place on its line; undefined unless that is blank. */
function indentAt(text: string, at: number): string | undefined {
  const before = text.slice(text.lastIndexOf("\n", at - 1) + 1, at);
  return text.lastIndexOf("\n", at - 1) >= 0 && before.trim() === "" ? before : undefined;
}

function lineIndent(text: string, at: number): string {
  return /^[ \t]*/.exec(text.slice(text.lastIndexOf("\n", at - 1) + 1))?.[0] ?? "";
}
