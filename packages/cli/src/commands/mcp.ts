import { existsSync, mkdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, resolve } from "node:path";
import { MCP_SERVER, type McpServerOptions, scopeOf } from "@stemma/mcp";
import { invalid, type StemmaError } from "@stemma/model";
import { replaceFile } from "@stemma/model/files";
import { type Command, Option } from "commander";
import { loadVariables, withStore, writeJson } from "../context.js";
import { reportError } from "../errors.js";
import { confirm, type Io, untilStopped } from "../io.js";
import { CLIENTS, type Machine, type McpClient, startOf } from "../mcp/install/clients.js";
import { lineDifference } from "../mcp/install/toml-edit.js";
import {
  type DatabaseOptions,
  databaseName,
  hasPassword,
  hidePasswords,
  isUrl,
  type LocalOptions,
  localOption,
} from "../open-database.js";
import { nonEmpty, oneOf, portNumber, positiveNumber } from "../options.js";
import { printable } from "../text.js";

const BY_HAND =
  "stemma: an MCP client speaks to this on standard input. `stemma mcp install` adds it to one, --http serves a port; Ctrl-C ends it.\n";

/** Adds `stemma mcp`, which serves until its input ends or it is stopped. Over HTTP it prints, as JSON: `{ url, token }`. */
export function registerMcp(program: Command, io: Io): void {
  const command = program
    .command("mcp")
    .description("Serve the memory to agents, over the Model Context Protocol.")
    .option("-u, --user <id>", "only this user's sessions and memory", nonEmpty)
    .option("--project <name>", "only sessions whose metadata names this project, and a memory of its own", nonEmpty)
    .option("--read-only", "offer no tool that writes")
    // Not --env-file: Node takes that for its own, wherever it stands.
    .option("--dotenv <path>", "read variables such as STEMMA_DB or PGPASSWORD from this file", nonEmpty)
    .addOption(localOption())
    .option("--max-tokens <number>", "estimated tokens of an answer at most; default 4000", positiveNumber)
    .option(
      "--http <port>",
      "serve on a port of this machine instead of standard input and output; 0 takes a free one",
      portNumber,
    )
    .addOption(
      new Option("--token <secret>", "with --http: what clients send, instead of a random token").env(
        "STEMMA_MCP_TOKEN",
      ),
    )
    .action(async (options: McpCommandOptions, self: Command) => {
      const { readOnly = false, http, dotenv } = options;
      if (dotenv !== undefined) loadVariables(dotenv);
      const token = options.token ?? (process.env.STEMMA_MCP_TOKEN || undefined);
      const serverOptions: McpServerOptions = {
        userId: options.user,
        project: options.project,
        maxTokens: options.maxTokens,
        onError: (error) => reportError(io, error),
      };
      MCP_SERVER.assert(serverOptions, "stemma mcp");
      const database = self.optsWithGlobals<DatabaseOptions>();
      await withStore(self, io, readOnly ? "fail" : "make", async ({ store, json }) => {
        // Tells at once of a database that cannot be opened.
        await store.sessions.count();
        const scope = scopeOf(store, serverOptions);
        const stopped = untilStopped();
        if (http === undefined) {
          if (io.isTerminal.input) io.writeError(BY_HAND);
          const { serveOnStdio } = await import("../mcp/listened.js");
          return serveOnStdio(scope, readOnly, stopped);
        }
        const { serveHttp } = await import("../mcp/serve-http.js");
        const server = await serveHttp(scope, { port: http, token, readOnly });
        if (json) await writeJson(io, { url: server.url, token: server.token });
        else
          await io.write(
            `${databaseName(database)}\n${server.url}\nAuthorization: Bearer ${server.token}\nCtrl-C ends it.\n`,
          );
        await stopped;
        await server.close();
      });
    });
  registerMcpInstall(command, io);
}

/** The options of `stemma mcp`, which those of the server become. */
interface McpCommandOptions extends LocalOptions {
  user?: string;
  project?: string;
  readOnly?: boolean;
  maxTokens?: number;
  http?: number;
  token?: string;
  dotenv?: string;
}

interface InstallOptions extends DatabaseOptions, McpCommandOptions {
  json?: boolean;
  name: string;
  yes?: boolean;
}

/** Adds `stemma mcp install`. As JSON: `{ file, changed }`. */
function registerMcpInstall(mcp: Command, io: Io): void {
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
      if (options.dotenv !== undefined) assertFile(options.dotenv);
      const before = readConfiguration(file);
      const place = databaseOf(options);
      const start = startOf(machine, serverArguments(place, options), place !== undefined && isUrl(place));
      const after = client.withServer(before, options.name, start);
      if (after === null) throw cannotChange(client, file);
      const changed = after !== before;
      if (!options.json) {
        const lines = changed ? lineDifference(before, after) : ["Nothing is to be changed."];
        await io.write(printable(hidePasswords(`${file}\n${lines.join("\n")}\n`)));
      }
      if (changed && place !== undefined && hasPassword(place)) io.writeError(passwordNote(file));
      if (changed && !options.yes && !(await confirm(io, `Change the configuration of ${client.title}?`))) {
        throw invalid("Nothing was changed. Answer y, or pass --yes.", { file });
      }
      if (changed) await writeConfiguration(file, before, after);
      if (options.json) return writeJson(io, { file, changed });
      if (changed) await io.write(`Changed. ${client.title} knows the server after its next start.\n`);
    });
}

// The database that the server is to open. What a file of variables names is read by the server, and not before.
function databaseOf({ db, dotenv }: InstallOptions): string | undefined {
  const place = db ?? (dotenv === undefined ? process.env.STEMMA_DB : undefined);
  if (place === undefined || place === "") return undefined;
  return /^\w+:\/\//.test(place) ? place : resolve(place);
}

// A client starts the server in a folder and with variables of its own.
function serverArguments(
  place: string | undefined,
  { schema, user, project, readOnly, maxTokens, dotenv, local }: InstallOptions,
): string[] {
  return [
    ...(dotenv === undefined ? [] : ["--dotenv", resolve(dotenv)]),
    ...(place === undefined ? [] : ["--db", place]),
    ...(schema === undefined ? [] : ["--schema", schema]),
    ...(user === undefined ? [] : ["--user", user]),
    ...(project === undefined ? [] : ["--project", project]),
    ...(readOnly ? ["--read-only"] : []),
    ...(maxTokens === undefined ? [] : ["--max-tokens", String(maxTokens)]),
    ...(local === undefined ? [] : ["--local"]),
    ...(typeof local === "string" ? [existsSync(local) ? resolve(local) : local] : []),
  ];
}

function assertFile(path: string): void {
  if (existsSync(path)) return;
  const message = `There is no file ${path} for --dotenv. Write it first, with lines such as PGPASSWORD=…, and let only you read it.`;
  throw invalid(message, { path });
}

function passwordNote(file: string): string {
  return `The database's password will stand in ${file} as it is, and in the list of processes while the server runs.
To keep it out, leave it out of the URL: write PGPASSWORD=… into a file that only you can read, and name that with --dotenv.\n`;
}

function cannotChange({ title }: McpClient, file: string): StemmaError {
  const message = `${file} cannot be changed without the risk of losing something in it: it is broken, or names its servers in another way. Add the server by hand, as ${title} documents it.`;
  return invalid(message, { file });
}

const PRIVATE = 0o600;

/** The text of a configuration file, "" where there is none. Errors: `INVALID_ARGUMENT` for one that is not UTF-8. */
function readConfiguration(path: string): string {
  if (!existsSync(path)) return "";
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `${path} is no text in UTF-8. Nothing was changed.`;
    throw invalid(message, { path }, { cause: error });
  }
}

/**
 * Replaces a configuration file whole or not at all, if it still holds `before`. A new one can be read by its owner only; a link
 * stays, and what it leads to is replaced. Errors: `INVALID_ARGUMENT` where it holds something else by now.
 */
async function writeConfiguration(path: string, before: string, after: string): Promise<void> {
  if (readConfiguration(path) !== before) {
    const message = `${path} was changed by another program meanwhile. Nothing was changed; run the command again.`;
    throw invalid(message, { path });
  }
  const isThere = existsSync(path);
  const target = isThere ? realpathSync(path) : path;
  if (!isThere) mkdirSync(dirname(path), { recursive: true });
  await replaceFile(target, after, { mode: isThere ? statSync(target).mode & 0o777 : PRIVATE });
}
