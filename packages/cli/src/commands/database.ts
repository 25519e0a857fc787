import { StemmaError } from "@stemma/model";
import { schemaSql } from "@stemma/postgres/postgres";
import type { CheckProblem, CheckReport } from "@stemma/store";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import type { Io } from "../io.js";
import { type DatabaseOptions, databaseName } from "../open-database.js";
import { nonEmpty } from "../options.js";
import { columns, count, oneLine } from "../text.js";

const MAX_MESSAGE = 200;

/** Adds `stemma check`. As JSON: the report of `store.check()`. Exit code 1 when something stays damaged. */
export function registerCheck(program: Command, io: Io): void {
  program
    .command("check")
    .description("Look for damage: every row of every table, and the search index. Exit code 1 when some is left.")
    .option("--repair", "mend what can be mended; no message that can be read is removed")
    .option("--session <id>", "only this session, by its whole id", nonEmpty)
    .action(async (options: { repair?: boolean; session?: string }, command: Command) => {
      await withStore(command, io, "fail", async ({ store, json }) => {
        if (store.check === undefined) {
          throw new StemmaError("STORE_UNSUPPORTED", { store: store.name }, "This store cannot check itself.");
        }
        const report = await store.check({ repair: options.repair ?? false, sessionId: options.session });
        if (!report.ok) io.fail();
        if (json) return writeJson(io, report);
        await io.write(describeReport(report, options.repair ?? false));
      });
    });
}

function describeReport({ ok, checked, problems, repaired }: CheckReport, repair: boolean): string {
  const rows = Object.entries(checked).map(([table, count]) => [table, String(count)]);
  const found = linesOf(problems);
  const left = problems.length - repaired;
  const end = ok
    ? problems.length === 0
      ? "Nothing is damaged."
      : `Everything that was damaged is mended: ${problems.length}.`
    : `${left} of ${problems.length} problems are left. ${repair ? adviceOn(problems) : "`stemma check --repair` mends what it can."}`;
  return `${columns([["TABLE", "ROWS"], ...rows])}\n${found.length === 0 ? "" : `${columns(found)}\n`}${end}\n`;
}

// What a repair has left.
function adviceOn(problems: readonly CheckProblem[]): string {
  const isFile = problems.some(({ rule, repaired }) => rule === "engine" && !repaired);
  return isFile
    ? "Nothing is repaired while the file itself is damaged: restore a backup, or use SQLite's `.recover`."
    : "They cannot be mended from what is in the database: restore a backup.";
}

function lineOf({ rule, sessionId, id, message, repaired }: CheckProblem): string[] {
  const where = [sessionId, id].filter((name) => name !== null).map((name) => oneLine(name));
  return [repaired ? "mended" : "damaged", rule, where.join(" / "), oneLine(message, MAX_MESSAGE)];
}

// What the engine says of a damaged file is the same for one table after the other: a line for each thing that it says.
function linesOf(problems: readonly CheckProblem[]): string[][] {
  const alike = new Map<string, [CheckProblem, ...CheckProblem[]]>();
  for (const [index, problem] of problems.entries()) {
    const { rule, message, repaired, sessionId, id } = problem;
    const isOfTable = rule === "engine" || (sessionId === null && id === null);
    const key = isOfTable ? `${rule} ${repaired} ${message}` : String(index);
    const known = alike.get(key);
    if (known === undefined) alike.set(key, [problem]);
    else known.push(problem);
  }
  return [...alike.values()].map((group) => {
    const [first, ...others] = group;
    const places = others.length === 0 ? "" : placesOf(group);
    if (places === "") return lineOf(first);
    const [state = "", rule = "", , message = ""] = lineOf(first);
    return [state, rule, "", `${message} (${places})`];
  });
}

function placesOf(problems: readonly CheckProblem[]): string {
  const tables = new Map<string, Set<string>>();
  for (const { table, sessionId } of problems) {
    const sessions = tables.get(table) ?? new Set();
    tables.set(table, sessionId === null ? sessions : sessions.add(sessionId));
  }
  const named = [...tables].filter(([table]) => table !== "");
  return named.map(([table, { size }]) => (size === 0 ? table : `${table} of ${count(size, "session")}`)).join(", ");
}

/** Adds `stemma backup`. As JSON: what `store.backup()` resolves to. */
export function registerBackup(program: Command, io: Io): void {
  program
    .command("backup")
    .description(
      "Copy the database to a new file while others write to it, and check the copy. To restore: copy it back.",
    )
    .argument("<file>", "the file to write; one that is there is not overwritten", nonEmpty)
    .option("--no-check", "do not check the copy; damage is then copied too")
    .action(async (file: string, { check }: { check: boolean }, command: Command) => {
      await withStore(command, io, "fail", async ({ store, json }) => {
        const report = await store.backup(file, { check });
        if (json) return writeJson(io, report);
        const checked = report.check === null ? "not checked" : "nothing is damaged";
        await io.write(`${file}: ${(report.bytes / 1e6).toFixed(1)} MB, ${checked}\n`);
      });
    });
}

/** Adds `stemma migrate`. As JSON: `{ database }`, once the tables are ready. */
export function registerMigrate(program: Command, io: Io): void {
  program
    .command("migrate")
    .description("Create the tables, or upgrade those that are there. Other commands do it too, where their role may.")
    .option("--print", "write the SQL for a console of Postgres instead, and connect to nothing")
    .option("--citus", "spread the tables over the servers of a cluster of Citus, by session")
    .action(async ({ print }: { print?: boolean }, command: Command) => {
      const options = command.optsWithGlobals<DatabaseOptions>();
      if (print) return io.write(schemaSql({ schema: options.schema, citus: options.citus }));
      await withStore(command, io, "make", async ({ store, json }) => {
        await store.migrate();
        const database = databaseName(options);
        if (json) return writeJson(io, { database });
        await io.write(`The tables of ${database} are ready.\n`);
      });
    });
}
