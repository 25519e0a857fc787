import { readdir, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { IMPORT_FORMATS } from "@stemma/formats/programs";
import { ifThere } from "@stemma/model/files";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import { ImportRun, type SourceFile } from "../import/import-run.js";
import type { Io } from "../io.js";
import { confirm, stoppable } from "../io.js";
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
 * With `--watch`, only of what is new, and when it is stopped `{ watched: { files, inserted, updated } }`.
 */
export function registerImport(program: Command, io: Io): void {
  const formats = IMPORT_FORMATS.map(({ name, about }) => `  ${name.padEnd(15)} ${about}`).join("\n");
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
      const { format, session, all = false, watch = false } = options;
      if (files.length === 0 && !all) command.error("error: name files, or pass --all");
      if (watch && files.includes("-")) command.error("error: standard input cannot be watched");
      const found = all ? await findSessionFiles() : [];
      const { json = false } = command.optsWithGlobals<{ json?: boolean }>();
      if (all && !(await isWanted(io, found, options, json))) return;
      io.saveMemory();
      const named = files.map((path) => ({ path }));
      await withStore(command, io, "make", (context) => {
        const work = async (signal: AbortSignal): Promise<void> => {
          const run = new ImportRun(context, { format, session, signal });
          if (!watch) await run.once([...named, ...filesOf(found)]);
          else await run.watch(async () => [...named, ...(all ? filesOf(await findSessionFiles()) : [])]);
        };
        return stoppable(work);
      });
    });
}

function filesOf(found: readonly FoundFiles[]): SourceFile[] {
  return found.flatMap(({ files, format }) => files.map((path) => ({ path, format })));
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
  // Whoever said no knows; a script in which nobody could answer does not.
  if (!io.isTerminal.input) io.fail();
  return false;
}

function rowOf({ program, folder, files, bytes }: FoundFiles): string[] {
  return [program, count(files.length, "file"), `${(bytes / 1e6).toFixed(1)} MB`, folder];
}

interface FoundFiles {
  program: string;
  /** The name of the format that it writes. */
  format: string;
  folder: string;
  files: string[];
  bytes: number;
}

/** Where a program keeps its sessions: folders, and which of the files in and below them. */
interface Place {
  program: string;
  format: string;
  folders: string[];
  pattern: RegExp;
}

/** Looks for sessions where programs keep them, on Linux, macOS and Windows. A program without files is left out. */
export async function findSessionFiles(env: NodeJS.ProcessEnv = process.env, home = homedir()): Promise<FoundFiles[]> {
  const found: FoundFiles[] = [];
  for (const { program, format, folders, pattern } of placesOf(env, home)) {
    for (const folder of folders) {
      const files = withoutCopies(await filesBelow(folder, pattern));
      if (files.length === 0) continue;
      const sizes = await Promise.all(files.map(sizeOf));
      found.push({ program, format, folder, files, bytes: sizes.reduce((sum, size) => sum + size, 0) });
    }
  }
  return found;
}

function placesOf(env: NodeJS.ProcessEnv, home: string): Place[] {
  const config = env.XDG_CONFIG_HOME || join(home, ".config");
  const claude = env.CLAUDE_CONFIG_DIR ? [env.CLAUDE_CONFIG_DIR] : [join(home, ".claude"), join(config, "claude")];
  const codex = env.CODEX_HOME || join(home, ".codex");
  const pi = env.PI_CODING_AGENT_DIR || join(home, ".pi", "agent");
  return [
    {
      program: "Claude Code",
      format: "claude-code",
      folders: claude.map((folder) => join(folder, "projects")),
      pattern: /\.jsonl$/,
    },
    {
      program: "Codex",
      format: "codex",
      folders: [join(codex, "sessions"), join(codex, "archived_sessions")],
      pattern: /^rollout-.*\.jsonl(\.zst)?$/,
    },
    { program: "pi", format: "pi", folders: [join(pi, "sessions")], pattern: /\.jsonl$/ },
  ];
}

async function filesBelow(folder: string, pattern: RegExp): Promise<string[]> {
  const entries = (await ifThere(readdir(folder, { recursive: true, withFileTypes: true }))) ?? [];
  const files = entries.filter((entry) => entry.isFile() && pattern.test(entry.name));
  return files.map((entry) => join(entry.parentPath, entry.name)).sort();
}

// Codex compresses a file and then removes it: while both are there, the one that is not compressed is whole.
function withoutCopies(files: readonly string[]): string[] {
  const all = new Set(files);
  return files.filter((file) => !file.endsWith(".zst") || !all.has(file.slice(0, -".zst".length)));
}

// One that goes meanwhile has no size.
async function sizeOf(file: string): Promise<number> {
  return (await ifThere(stat(file)))?.size ?? 0;
}
