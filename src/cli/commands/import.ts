import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, extname } from "node:path";
import type { Command } from "commander";
import { StemmaError } from "../../errors.js";
import { IMPORT_FORMATS, readSessions } from "../../formats/formats.js";
import { type ImportReport, importSession } from "../../formats/import/import-session.js";
import { decodeUtf8, readItems } from "../../formats/json-items.js";
import type { ParsedSession } from "../../formats/session-file.js";
import { type CommandContext, withStore, writeJson } from "../context.js";
import { describeError, reportError } from "../errors.js";
import { FileSummary } from "../import/file-summary.js";
import type { Io } from "../io.js";
import { oneOf } from "../options.js";
import { createProgress } from "../progress.js";

interface ImportOptions {
  format?: string;
  session?: string;
}

/**
 * Adds `stemma import`. As JSON: a line per session, `{ file, session, name, messages, inserted, updated, compactions, skipped:
 * [{ line, path, why }] }`, and for a file that cannot be read `{ file, error: { code, message } }`. `path` is the place in
 * the list or object that stands on the line, as a JSON path; missing where the line says it all.
 */
export function registerImport(program: Command, io: Io): void {
  const formats = IMPORT_FORMATS.map(({ name, about }) => `  ${name.padEnd(12)} ${about}`).join("\n");
  program
    .command("import")
    .description(
      "Read sessions from files. What is there already stays as it is, so that importing again adds nothing.",
    )
    .argument("<files...>", "- is standard input")
    .option(
      "-f, --format <format>",
      "the files' format; default: found by their content",
      oneOf(IMPORT_FORMATS.map(({ name }) => name)),
    )
    .option("-s, --session <id>", "the session to import into, for a file that holds one")
    .addHelpText("after", `\nFormats:\n${formats}`)
    .action(async (files: string[], options: ImportOptions, command: Command) => {
      await withStore(command, io, "write", async (context) => {
        for (const file of files) {
          try {
            await importFile(context, file, options);
          } catch (error) {
            // The other files are read all the same.
            io.fail();
            if (context.json) await writeJson(io, { file, error: describeError(error) });
            else reportError(io, error, { prefix: `${file}: ` });
          }
        }
      });
    });
}

async function importFile(context: CommandContext, file: string, options: ImportOptions): Promise<void> {
  const { io, json } = context;
  const progress = createProgress(io);
  const summary = new FileSummary(file === "-" ? "standard input" : basename(file));
  const stem = file === "-" ? "stdin" : basename(file, extname(file));
  const size = file === "-" ? null : (await stat(file)).size;
  const bytes: AsyncIterable<Uint8Array> = file === "-" ? io.input : createReadStream(file);
  const found = readSessions(readItems(decodeUtf8(counted(bytes))), { stem }, options.format);
  try {
    for await (const session of options.session === undefined ? found : onlyOne(found)) {
      const report = await importOrSay(context, session, options.session);
      if (report === null) session.skipped.push({ line: 0, why: "nothing of the session can be stored" });
      summary.add(session, report);
      if (!json) continue;
      progress.end();
      await writeJson(io, {
        file,
        ...(report ?? { ...NOTHING, session: session.id, name: session.name, skipped: session.skipped }),
      });
    }
    if (!json && summary.isEmpty) await io.write(`${summary}`);
  } finally {
    progress.end();
    // Also where the rest of the file cannot be read.
    if (!json && !summary.isEmpty) await io.write(`${summary}`);
  }

  async function* counted(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let read = 0;
    for await (const chunk of chunks) {
      read += chunk.length;
      const text = `${summary.progress}, ${(read / 1e6).toFixed(1)} MB read`;
      progress.show(text, size === null ? undefined : read / size);
      yield chunk;
    }
  }
}

// What is wrong with one session does not keep the others of the file out.
async function importOrSay(context: CommandContext, session: ParsedSession, id?: string): Promise<ImportReport | null> {
  try {
    return await importSession(context.store, session, id);
  } catch (error) {
    if (!StemmaError.isInstance(error) || !error.code.startsWith("INVALID_")) throw error;
    session.skipped.push({ line: 0, why: error.message });
    return null;
  }
}

const NOTHING = { messages: 0, inserted: 0, updated: 0, compactions: 0 };

async function* onlyOne(sessions: AsyncIterable<ParsedSession>): AsyncGenerator<ParsedSession> {
  let only: ParsedSession | null = null;
  for await (const session of sessions) {
    if (only !== null) {
      throw new StemmaError(
        "INVALID_ARGUMENT",
        {},
        "The file holds several sessions: leave --session out. Nothing was imported.",
      );
    }
    only = session;
  }
  if (only !== null) yield only;
}
