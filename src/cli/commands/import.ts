import type { Command } from "commander";
import { IMPORT_FORMATS } from "../../formats/formats.js";
import { confirm } from "../confirm.js";
import { type CommandContext, withStore, writeJson } from "../context.js";
import { describeError, reportError } from "../errors.js";
import { type FoundFiles, findSessionFiles } from "../import/find-files.js";
import { type ImportFileOptions, importFile } from "../import/import-file.js";
import { watchFiles } from "../import/watch-files.js";
import type { Io } from "../io.js";
import { oneOf } from "../options.js";
import { columns, count } from "../text.js";

interface ImportOptions {
  format?: string;
  session?: string;
  all?: boolean;
  yes?: boolean;
  watch?: boolean;
}

/**
 * Adds `stemma import`. As JSON: a line per session, `{ file, session, name, messages, inserted, updated, compactions, kept,
 * skipped: [{ line, path, why }] }`, and for a file that cannot be read `{ file, error: { code, message } }`. `path` is the
 * place in the list or object that stands on the line, as a JSON path; missing where the line says it all. `kept` has the
 * number of what was kept word for word, by kind. With `--all`, first a line for each folder: `{ program, folder, files, bytes }`.
 */
export function registerImport(program: Command, io: Io): void {
  const formats = IMPORT_FORMATS.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`).join("\n");
  program
    .command("import")
    .description(
      "Read sessions from files. What is there already stays as it is, so that importing again adds nothing.",
    )
    .argument("[files...]", "- is standard input")
    .option(
      "-f, --format <format>",
      "the files' format; default: found by their content",
      oneOf(IMPORT_FORMATS.map(({ name }) => name)),
    )
    .option("-s, --session <id>", "the session to import into, for a file that holds one")
    .option("-a, --all", "what Claude Code, Codex and pi keep on this machine; shows it, and asks")
    .option("-y, --yes", "do not ask; needed where nobody can answer")
    .option("-w, --watch", "go on: import what the files grow by, until Ctrl-C")
    .addHelpText("after", `\nFormats:\n${formats}`)
    .action(async (files: string[], options: ImportOptions, command: Command) => {
      if (files.length === 0 && options.all !== true) command.error("error: name files, or pass --all");
      if (options.watch === true && files.includes("-")) command.error("error: standard input cannot be watched");
      const found = options.all === true ? await findSessionFiles() : [];
      const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
      if (options.all === true && !(await isWanted(io, found, options, json))) return;
      const all = async (): Promise<string[]> => [
        ...files,
        ...(options.all === true ? await findSessionFiles() : []).flatMap((place) => place.files),
      ];
      await withStore(command, io, "write", async (context) => {
        const read = (file: string) => importOrReport(context, file, { ...options, isWatched: options.watch });
        if (options.watch === true) await watch(all, read);
        else for (const file of [...files, ...found.flatMap((place) => place.files)]) await read(file);
      });
    });
}

// The other files are read all the same.
async function importOrReport(context: CommandContext, file: string, options: ImportFileOptions): Promise<void> {
  const { io, json } = context;
  try {
    await importFile(context, file, options);
  } catch (error) {
    io.fail();
    if (json) await writeJson(io, { file, error: describeError(error) });
    else reportError(io, error, { prefix: `${file}: ` });
  }
}

async function watch(list: () => Promise<readonly string[]>, read: (file: string) => Promise<void>): Promise<void> {
  const stopped = new AbortController();
  const stop = (): void => stopped.abort();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, stop);
  try {
    await watchFiles(list, read, { signal: stopped.signal });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, stop);
  }
}

/** Shows what would be imported. Resolves to whether it is to be. */
async function isWanted(
  io: Io,
  found: readonly FoundFiles[],
  { yes, watch }: ImportOptions,
  json: boolean,
): Promise<boolean> {
  if (json) {
    for (const { program, folder, files, bytes } of found)
      await writeJson(io, { program, folder, files: files.length, bytes });
  } else if (found.length === 0) await io.write("Nothing was found of Claude Code, Codex or pi.\n");
  else await io.write(columns(found.map(rowOf)));
  if (found.length === 0) return watch === true && yes === true;
  if (yes === true || (await confirm(io, "Import them?"))) return true;
  io.writeError("Nothing was imported. Answer y, or pass --yes.\n");
  return false;
}

function rowOf({ program, folder, files, bytes }: FoundFiles): string[] {
  return [program, count(files.length, "file"), `${(bytes / 1e6).toFixed(1)} MB`, folder];
}
