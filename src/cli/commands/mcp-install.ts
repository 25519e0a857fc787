import { homedir } from "node:os";
import { resolve } from "node:path";
import type { Command } from "commander";
import { StemmaError } from "../../errors.js";
import { confirm } from "../confirm.js";
import { writeJson } from "../context.js";
import type { Io } from "../io.js";
import { CLIENTS, type Machine, type McpClient, startOf } from "../mcp/install/clients.js";
import { readConfiguration, writeConfiguration } from "../mcp/install/install-file.js";
import { lineDifference } from "../mcp/install/line-difference.js";
import { nonEmpty, oneOf } from "../options.js";
import { printable } from "../text.js";

interface InstallOptions {
  db?: string;
  schema?: string;
  json?: boolean;
  user?: string;
  project?: string;
  readOnly?: boolean;
  maxTokens?: number;
  http?: number;
  name: string;
  yes?: boolean;
}

/** Adds `stemma mcp install`. As JSON: `{ file, changed }`. */
export function registerMcpInstall(mcp: Command, io: Io): void {
  mcp
    .command("install")
    .description("Show how a client's configuration changes so that it starts this server, and change it after a yes.")
    .argument("<client>", Object.keys(CLIENTS).join(", "), oneOf(Object.keys(CLIENTS)))
    .option("--name <name>", "what the client calls the server", nonEmpty, "stemma")
    .option("-y, --yes", "do not ask; needed where nobody can answer")
    .action(async (clientName: string, _: unknown, self: Command) => {
      const options = self.optsWithGlobals<InstallOptions>();
      if (options.http !== undefined)
        self.error("A client that is installed starts the server itself: leave --http out.");
      const machine: Machine = { platform: process.platform, home: homedir(), env: process.env };
      const client = CLIENTS[clientName] as McpClient;
      const file = client.fileOn(machine);
      const before = readConfiguration(file);
      const after = client.withServer(before, options.name, startOf(machine, serverArguments(options)));
      if (after === null) throw cannotChange(client, file);
      const changed = after !== before;
      if (!options.json) {
        const lines = changed ? lineDifference(before, after) : ["Nothing is to be changed."];
        await io.write(printable(`${file}\n${lines.join("\n")}\n`));
      }
      if (changed && !options.yes && !(await confirm(io, `Change the configuration of ${client.title}?`))) {
        throw new StemmaError("INVALID_ARGUMENT", { file }, "Nothing was changed. Answer y, or pass --yes.");
      }
      if (changed) await writeConfiguration(file, before, after);
      if (options.json) return writeJson(io, { file, changed });
      if (changed) await io.write(`Changed. ${client.title} knows the server after its next start.\n`);
    });
}

// A client starts the server in a folder and with variables of its own.
function serverArguments({
  db = process.env.STEMMA_DB,
  schema,
  user,
  project,
  readOnly,
  maxTokens,
}: InstallOptions): string[] {
  const place = db === undefined || db === "" || /^\w+:\/\//.test(db) ? db : resolve(db);
  return [
    ...(place ? ["--db", place] : []),
    ...(schema === undefined ? [] : ["--schema", schema]),
    ...(user === undefined ? [] : ["--user", user]),
    ...(project === undefined ? [] : ["--project", project]),
    ...(readOnly ? ["--read-only"] : []),
    ...(maxTokens === undefined ? [] : ["--max-tokens", String(maxTokens)]),
  ];
}

function cannotChange({ title }: McpClient, file: string): StemmaError {
  const message = `${file} cannot be changed without the risk of losing something in it: it is broken, or names its servers in another way. Add the server by hand, as ${title} documents it.`;
  return new StemmaError("INVALID_ARGUMENT", { file }, message);
}
