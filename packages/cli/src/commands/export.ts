import { EXPORT_FORMATS, findExportFormat, ownersOf } from "@stemma/formats";
import type { Command } from "commander";
import { type CommandContext, withStore, writeJson } from "../context.js";
import { findSession } from "../find.js";
import type { Io } from "../io.js";
import { exitCodeOf, stoppable, writeOutput } from "../io.js";
import { nonEmpty, oneOf } from "../options.js";
import { createProgress } from "../progress.js";

interface ExportOptions {
  format: string;
  output?: string;
  all?: boolean;
}

/** Adds `stemma export`. With `--output` as JSON: `{ file, format, sessions }`; without, the export is the output. */
export function registerExport(program: Command, io: Io): void {
  const formats = EXPORT_FORMATS.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`).join("\n");
  program
    .command("export")
    .description("Write sessions as text.")
    .argument("[sessions...]", "id, beginning of an id, or name")
    .option("-f, --format <format>", "see below", oneOf(EXPORT_FORMATS.map(({ name }) => name)), "jsonl")
    .option("-o, --output <file>", "the file to write, whole or not at all; default: standard output", nonEmpty)
    .option("-a, --all", "every session, and with jsonl what is remembered of users and under keys")
    .addHelpText("after", `\nFormats:\n${formats}`)
    .action(async (texts: string[], options: ExportOptions, command: Command) => {
      if ((texts.length === 0) !== (options.all === true)) command.error("name the sessions to export, or pass --all");
      await withStore(command, io, "fail", async (context) => {
        const { manager, json } = context;
        const named = [];
        for (const text of texts) named.push((await findSession(manager, text)).id);
        // Oldest first: what an import writes last is then the latest changed again.
        const sessions = options.all ? (await manager.list()).map(({ id }) => id).reverse() : named;
        const chunks = exportAll(context, sessions, options);
        if (options.output === undefined) {
          for await (const chunk of chunks) await io.write(chunk);
          return;
        }
        const { output } = options;
        // Whoever ends it finds no half of a file, nor what was written of it under another name.
        await stoppable(async (signal) => {
          try {
            await writeOutput(output, untilAborted(chunks, signal));
            if (json) await writeJson(io, { file: output, format: options.format, sessions });
          } catch (error) {
            if (!signal.aborted) throw error;
            io.writeError(`stemma: Stopped by ${signal.reason}. Nothing was written.\n`);
            io.fail(exitCodeOf(signal));
          }
        });
      });
    });
}

async function* untilAborted(chunks: AsyncIterable<string>, signal: AbortSignal): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    yield chunk;
  }
}

async function* exportAll(
  { store, io }: CommandContext,
  ids: readonly string[],
  options: ExportOptions,
): AsyncGenerator<string> {
  const format = findExportFormat(options.format);
  const progress = createProgress(io);
  try {
    for (const [index, id] of ids.entries()) {
      // Deleted since it was found.
      const info = await store.sessions.get(id);
      if (info === null) continue;
      let pieces = 0;
      for await (const piece of format.write(store, info)) {
        pieces += 1;
        progress.show(`session ${index + 1} of ${ids.length}, ${pieces.toLocaleString("en")} lines`);
        yield piece;
      }
    }
    if (options.all && format.writeMemory !== undefined) {
      for await (const owner of ownersOf(store)) yield* format.writeMemory(store, owner);
    }
  } finally {
    progress.end();
  }
}
