import { posix, win32 } from "node:path";
import type { JsonObject } from "../../../model/json-object.js";
import { withMember } from "./json-edit.js";
import { withTable } from "./toml-edit.js";

/** The machine, as far as it says where programs keep their files. */
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
