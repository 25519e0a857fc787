import { createReadStream } from "node:fs";
import { basename, extname } from "node:path";
import type { Command } from "commander";
import { StemmaError } from "../../errors.js";
import { IMPORT_FORMATS, readSessions } from "../../formats/formats.js";
import { decodeUtf8, readItems } from "../../formats/json-items.js";
import type { ParsedSession } from "../../formats/session-file.js";
import { type CommandContext, withStore, writeJson } from "../context.js";
import { describeError, reportError } from "../errors.js";
import { type ImportReport, importSession } from "../import/import-session.js";
import type { Io } from "../io.js";
import { oneOf } from "../options.js";
import { createProgress } from "../progress.js";
import { count, oneLine } from "../text.js";

interface ImportOptions {
  format?: string;
  session?: string;
}

/** Lines of what was left out that a terminal is shown; JSON has them all. */
const MAX_SKIPPED_SHOWN = 10;

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
  const stem = file === "-" ? "stdin" : basename(file, extname(file));
  const bytes: AsyncIterable<Uint8Array> = file === "-" ? io.input : createReadStream(file);
  const found = readSessions(readItems(counted(decodeUtf8(bytes))), { stem }, options.format);
  const sessions = options.session === undefined ? found : onlyOne(found);
  let number = 0;
  let messages = 0;
  try {
    for await (const session of sessions) {
      const report = await importOrSay(context, session, options.session);
      number += 1;
      messages += session.messages.length;
      if (report === null) session.skipped.push({ line: 0, why: "nothing of the session can be stored" });
      progress.end();
      if (json)
        await writeJson(io, {
          file,
          ...(report ?? { ...NOTHING, session: session.id, name: session.name, skipped: session.skipped }),
        });
      else await io.write(describe(session, report));
    }
  } finally {
    progress.end();
  }

  async function* counted(chunks: AsyncIterable<string>): AsyncGenerator<string> {
    let characters = 0;
    for await (const chunk of chunks) {
      characters += chunk.length;
      const read = `${(characters / 1e6).toFixed(1)} MB`;
      progress.show(`${basename(file)}: ${read} read, ${count(number, "session")}, ${count(messages, "message")}`);
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

function describe(session: ParsedSession, report: ImportReport | null): string {
  const { skipped } = report ?? session;
  const shown = skipped
    .slice(0, MAX_SKIPPED_SHOWN)
    .map(
      ({ line, path, why }) =>
        `  ${line === 0 ? "" : `line ${line}${path ? `, ${path}` : ""}: `}${oneLine(why, 200)}\n`,
    );
  const more =
    skipped.length > MAX_SKIPPED_SHOWN
      ? [`  … and ${skipped.length - MAX_SKIPPED_SHOWN} more; --json lists them\n`]
      : [];
  const left = skipped.length === 0 ? "" : `, ${skipped.length} left out:`;
  return `${summary(session, report)}${left}\n${[...shown, ...more].join("")}`;
}

function summary(session: ParsedSession, report: ImportReport | null): string {
  if (report === null) return `${session.id}: not imported`;
  const { inserted, updated, messages, compactions } = report;
  const parts = [
    `${inserted} of ${count(messages, "message")} added`,
    ...(updated > 0 ? [`${updated} completed`] : []),
    ...(compactions > 0 ? [count(compactions, "summary", "summaries")] : []),
  ];
  return `${report.session}  ${oneLine(report.name)}: ${parts.join(", ")}`;
}
