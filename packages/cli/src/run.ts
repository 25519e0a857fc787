import { Command, CommanderError } from "commander";
import { registerCompact, registerDelete, registerFork, registerPrune } from "./commands/change-sessions.js";
import { registerCopy } from "./commands/copy.js";
import { registerBackup, registerCheck, registerMigrate } from "./commands/database.js";
import { registerEval } from "./commands/eval.js";
import { registerExport } from "./commands/export.js";
import { registerImport } from "./commands/import.js";
import { registerKey } from "./commands/key.js";
import { registerLearn } from "./commands/learn.js";
import { registerMcp } from "./commands/mcp.js";
import { registerServe } from "./commands/serve.js";
import { registerSearch, registerSessions, registerShow, registerTree } from "./commands/sessions.js";
import { registerStudio } from "./commands/studio.js";
import { registerTenants } from "./commands/tenants.js";
import { describeError, reportError } from "./errors.js";
import type { Io } from "./io.js";
import { nonEmpty } from "./options.js";

type Register = (program: Command, io: Io) => void;

/** Every command but `chat`, in the order that the help shows. */
const COMMANDS: readonly Register[] = [
  registerSessions,
  registerShow,
  registerTree,
  registerSearch,
  registerStudio,
  registerServe,
  registerMcp,
  registerFork,
  registerCompact,
  registerDelete,
  registerPrune,
  registerLearn,
  registerImport,
  registerExport,
  registerBackup,
  registerCopy,
  registerCheck,
  registerMigrate,
  registerEval,
  registerKey,
  registerTenants,
];

const HELP = `
Exit codes: 0 done, 1 failed, 2 called the wrong way.
With --json a failure is a line { "error": { "code", "message" } } on standard error.`;

/** Runs one command line. Resolves to the exit code; everything is told through `io`. */
export async function runCli(
  argv: readonly string[],
  io: Io,
  { version, before = [] }: { version: string; before?: readonly Register[] },
): Promise<number> {
  const json = argv.includes("--json");
  const program = new Command("stemma")
    .description(
      "Conversations of agents, kept in a SQLite file or in Postgres: talk, look, search, branch, compact, import, export.",
    )
    .version(version)
    .option("--db <path>", "a SQLite file or postgres://…; default: STEMMA_DB, else ~/.stemma/sessions.db", nonEmpty)
    .option("--schema <name>", "the schema of Postgres that holds the tables; default: the first of the search path")
    .option("--json", "write JSON: one document, or one per line where there may be many")
    .addHelpText("after", HELP)
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void io.write(text),
      writeErr: io.writeError,
      outputError: (text) => io.writeError(usageError(text.replace(/^error: /, "").trimEnd(), json)),
    })
    .exitOverride();
  for (const register of [...before, ...COMMANDS]) register(program, io);
  try {
    await program.parseAsync(argv, { from: "user" });
    return 0;
  } catch (error) {
    // Commander has told of it by now.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    if (json) io.writeError(`${JSON.stringify({ error: describeError(error) })}\n`);
    else reportError(io, error);
    return 1;
  }
}

function usageError(message: string, json: boolean): string {
  return json ? `${JSON.stringify({ error: { code: "USAGE", message } })}\n` : `stemma: ${message}\n`;
}
