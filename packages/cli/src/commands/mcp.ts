import { MCP_SERVER, type McpServerOptions, scopeOf } from "@stemma/mcp";
import { type Command, Option } from "commander";
import { loadVariables, withStore, writeJson } from "../context.js";
import { reportError } from "../errors.js";
import type { Io } from "../io.js";
import { untilStopped } from "../io.js";
import { type DatabaseOptions, databaseName } from "../open-database.js";
import { localOption } from "../open-local.js";
import { nonEmpty, portNumber, positiveNumber } from "../options.js";
import { type McpCommandOptions, registerMcpInstall } from "./mcp-install.js";

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
