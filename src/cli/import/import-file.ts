import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { StemmaError } from "../../errors.js";
import { importSession } from "../../formats/import/import-session.js";
import { addReports, type ImportReport } from "../../formats/import/report.js";
import { type ReadSessionsOptions, readSessionFile, readSessions } from "../../formats/read.js";
import type { ParsedSession } from "../../formats/session-file.js";
import { type CommandContext, writeJson } from "../context.js";
import { createProgress } from "../progress.js";
import { FileSummary } from "./file-summary.js";

export interface ImportFileOptions {
  format?: string | undefined;
  /** The session to import into. */
  session?: string | undefined;
  /** The file is read anew when it grows: an unfinished line waits, and only news are told. */
  isWatched?: boolean | undefined;
}

/** Imports a file, `-` for standard input, and tells what it did. */
export async function importFile(context: CommandContext, file: string, options: ImportFileOptions): Promise<void> {
  const { io, json } = context;
  const { session: id, isWatched = false } = options;
  const progress = createProgress(io);
  const summary = new FileSummary(file === "-" ? "standard input" : basename(file));
  const size = file === "-" ? null : (await stat(file)).size;
  const read: ReadSessionsOptions = {
    format: options.format,
    growing: isWatched && /\.jsonl$/.test(file),
    onRead: (bytes) => {
      const text = `${summary.progress}, ${(bytes / 1e6).toFixed(1)} MB read`;
      progress.show(text, size === null ? undefined : Math.min(1, bytes / size));
    },
  };
  const found = file === "-" ? readSessions(io.input, read) : readSessionFile(file, read);
  const begun = new Map<string, ImportReport>();
  try {
    for await (const session of id === undefined ? found : onlyOne(found)) {
      const report = addTo(begun, session, await importOrSay(context, session, id));
      if (session.more === true) continue;
      summary.add(session, report);
      if (!json || (isWatched && !isNews(report))) continue;
      progress.end();
      const nothing = { ...NOTHING, session: session.id, name: session.name, skipped: session.skipped };
      await writeJson(io, { file, ...(report ?? nothing) });
    }
    if (!json && !isWatched && summary.isEmpty) await io.write(`${summary}`);
  } finally {
    progress.end();
    // Also where the rest of the file cannot be read.
    if (!json && (isWatched ? summary.hasNews : !summary.isEmpty)) await io.write(`${summary}`);
  }
}

// The pieces of a session are told together, with the last of them.
function addTo(
  begun: Map<string, ImportReport>,
  { id }: ParsedSession,
  report: ImportReport | null,
): ImportReport | null {
  const before = begun.get(id);
  const whole = before === undefined || report === null ? (report ?? before ?? null) : addReports(before, report);
  if (whole !== null) begun.set(id, whole);
  return whole;
}

function isNews(report: ImportReport | null): boolean {
  return report !== null && report.inserted + report.updated > 0;
}

// What is wrong with one session does not keep the others of the file out.
async function importOrSay(context: CommandContext, session: ParsedSession, id?: string): Promise<ImportReport | null> {
  try {
    const report = await importSession(context.store, session, id);
    if (report === null) session.skipped.push({ line: 0, why: "nothing of the session can be stored" });
    return report;
  } catch (error) {
    if (!StemmaError.isInstance(error) || !error.code.startsWith("INVALID_")) throw error;
    session.skipped.push({ line: 0, why: error.message });
    return null;
  }
}

const NOTHING = { messages: 0, inserted: 0, updated: 0, compactions: 0, kept: {} };

async function* onlyOne(sessions: AsyncIterable<ParsedSession>): AsyncGenerator<ParsedSession> {
  let held: ParsedSession | null = null;
  let isWritten = false;
  for await (const session of sessions) {
    if (held !== null && held.id !== session.id) {
      const message = "The file holds several sessions: leave --session out.";
      throw new StemmaError("INVALID_ARGUMENT", {}, isWritten ? message : `${message} Nothing was imported.`);
    }
    if (held !== null) {
      isWritten = true;
      yield held;
    }
    held = session;
  }
  if (held !== null) yield held;
}
