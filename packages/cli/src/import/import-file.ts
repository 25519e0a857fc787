import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { addAbortSignal, Readable } from "node:stream";
import type { ParsedSession, Skipped } from "@stemma/formats";
import { addReports, type ImportReport, importSession } from "@stemma/formats";
import { type ReadFileOptions, readSessionFile, readSessions } from "@stemma/formats/read";
import { invalid, StemmaError } from "@stemma/model";
import { ifThere } from "@stemma/model/files";
import { type CommandContext, writeJson } from "../context.js";
import { createProgress } from "../progress.js";
import { count, oneLine } from "../text.js";
export interface ImportFileOptions {
  format?: string | undefined;
  /** The session to import into. */
  session?: string | undefined;
  /** The file is read anew when it grows: an unfinished line waits, and only news are told. */
  isWatched?: boolean | undefined;
  /** Ends the import: what was read by then is stored as far as it came in pieces. */
  signal: AbortSignal;
}

/** How many messages an import added, and how many it completed. */
interface Imported {
  inserted: number;
  updated: number;
}

/** Imports a file, `-` for standard input, and tells what it did. */
export async function importFile(context: CommandContext, file: string, options: ImportFileOptions): Promise<Imported> {
  const { io, json } = context;
  const { session: id, isWatched = false, signal } = options;
  const progress = createProgress(io);
  const summary = new FileSummary(file === "-" ? "standard input" : basename(file));
  const size = file === "-" ? null : await sizeOf(file);
  const read: ReadFileOptions = {
    format: options.format,
    signal,
    growing: isWatched && /\.jsonl$/.test(file),
    onRead: (bytes) => {
      const text = `${summary.progress}, ${(bytes / 1e6).toFixed(1)} MB read`;
      progress.show(text, size === null ? undefined : Math.min(1, bytes / size));
    },
  };
  const found = file === "-" ? readSessions(untilAborted(io.input, signal), read) : readSessionFile(file, read);
  /** Sessions of which further pieces follow. */
  const begun = new Map<string, ImportedSession>();
  const tell = async ({ session, report }: ImportedSession): Promise<void> => {
    summary.add(session, report);
    if (!json || (isWatched && !isNews(report))) return;
    progress.end();
    const { id: sessionId, ...others } = session;
    await writeJson(io, { file, ...(report ?? { ...NOTHING, session: sessionId, ...others }) });
  };
  const tellBegun = async (): Promise<void> => {
    for (const part of begun.values()) await tell(part);
    begun.clear();
  };
  try {
    for await (const session of id === undefined ? found : onlyOne(found)) {
      if (signal.aborted) break;
      const done = await importOrSay(context, session, id);
      // Of one of which nothing was understood, earlier pieces have at most what was kept beside messages.
      const report = session.isUnread === true ? null : addTo(begun.get(session.id)?.report, done);
      const { id: sessionId, name, skipped } = session;
      const imported = { session: { id: sessionId, name, skipped }, report };
      begun.delete(sessionId);
      if (session.more === true) begun.set(sessionId, imported);
      else await tell(imported);
    }
    await tellBegun();
    if (!isWatched && summary.isRefused) io.fail();
    if (!json && !isWatched && summary.isEmpty) await io.write(`${summary}`);
  } catch (error) {
    await tellBegun();
    if (!signal.aborted) throw error;
  } finally {
    progress.end();
    // Also where the rest of the file cannot be read.
    if (!json && (isWatched ? summary.hasNews : !summary.isEmpty)) await io.write(`${summary}`);
  }
  return summary.imported;
}

// A stream is closed, so that the process does not wait for what nobody reads.
async function* untilAborted(input: AsyncIterable<Uint8Array>, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  if (input instanceof Readable) addAbortSignal(signal, input);
  for await (const chunk of input) {
    signal.throwIfAborted();
    yield chunk;
  }
}

async function sizeOf(file: string): Promise<number> {
  const found = await ifThere(stat(file));
  if (found === null) throw invalid("There is no such file.", { file });
  if (found.isDirectory()) throw invalid("It is a folder. Name the files in it, or pass --all.", { file });
  return found.size;
}

/** A session as far as it was imported; of a piece of which nothing could be stored, there is no report. */
interface ImportedSession {
  session: SummarisedSession;
  report: ImportReport | null;
}

// The pieces of a session are told together, with the last of them.
function addTo(before: ImportReport | null = null, report: ImportReport | null): ImportReport | null {
  return before === null || report === null ? (report ?? before) : addReports(before, report);
}

function isNews(report: ImportReport | null): boolean {
  return report !== null && report.inserted + report.updated > 0;
}

// What is wrong with one session does not keep the others of the file out.
async function importOrSay(context: CommandContext, session: ParsedSession, id?: string): Promise<ImportReport | null> {
  try {
    const report = await importSession(context.store, session, id);
    const what = session.isUnread === true ? "was understood" : "can be stored";
    if (report === null) session.skipped.push({ line: 0, why: `nothing of the session ${what}` });
    return report;
  } catch (error) {
    if (!StemmaError.isInstance(error) || !error.code.startsWith("INVALID_")) throw error;
    session.skipped.push({ line: 0, why: error.message });
    return null;
  }
}

async function* onlyOne(sessions: AsyncIterable<ParsedSession>): AsyncGenerator<ParsedSession> {
  let held: ParsedSession | null = null;
  let isWritten = false;
  for await (const session of sessions) {
    if (held !== null && held.id !== session.id) {
      const message = "The file holds several sessions: leave --session out.";
      throw invalid(isWritten ? message : `${message} Nothing was imported.`);
    }
    if (held !== null) {
      isWritten = true;
      yield held;
    }
    held = session;
  }
  if (held !== null) yield held;
}

/** Lines of what was left out that a terminal is shown; JSON has them all. */
const MAX_SKIPPED_SHOWN = 10;

/** The report of a session of which nothing could be stored, but for what says which one it is. */
const NOTHING = { messages: 0, inserted: 0, updated: 0, compactions: 0, kept: {} };

type SummarisedSession = Pick<ParsedSession, "id" | "name" | "skipped">;

/** The report of an import of one file: one line, and below it what was left out. */
class FileSummary {
  #sessions = 0;
  #only: { id: string; name: string } | null = null;
  #notImported = 0;
  /** Of all sessions, but for what was left out of them. */
  #total: ImportReport = { ...NOTHING, session: "", name: "", skipped: [] };
  /** Those that are shown; a large file can have many more. */
  readonly #shown: (Skipped & { session: string })[] = [];
  #skipped = 0;

  constructor(private readonly file: string) {}

  get isEmpty(): boolean {
    return this.#sessions === 0;
  }

  /** True when nothing of any of its sessions could be stored. */
  get isRefused(): boolean {
    return this.#sessions > 0 && this.#notImported === this.#sessions;
  }

  /** True when the database has something of the file that it had not before. */
  get hasNews(): boolean {
    return this.#total.inserted + this.#total.updated > 0;
  }

  get imported(): { inserted: number; updated: number } {
    return this.#total;
  }

  get progress(): string {
    return `${this.file}: ${count(this.#sessions, "session")}, ${count(this.#total.messages, "message")}`;
  }

  /** `report` is null for a session of which nothing could be stored. */
  add(session: SummarisedSession, report: ImportReport | null): void {
    const id = report?.session ?? session.id;
    this.#sessions += 1;
    this.#only = this.#sessions === 1 ? { id, name: session.name } : null;
    this.#notImported += report === null ? 1 : 0;
    if (report !== null) this.#total = addReports(this.#total, { ...report, skipped: [] });
    const { skipped } = report ?? session;
    this.#skipped += skipped.length;
    const room = MAX_SKIPPED_SHOWN - this.#shown.length;
    this.#shown.push(...skipped.slice(0, room).map((each) => ({ ...each, session: id })));
  }

  toString(): string {
    const only = this.#only;
    const left = this.#notImported;
    const { messages, inserted, updated, compactions, kept } = this.#total;
    const kinds = Object.entries(kept).sort(([, a], [, b]) => b - a);
    const what =
      only === null
        ? count(this.#sessions, "session")
        : [only.id, ...(only.name === only.id ? [] : [only.name])].map((text) => oneLine(text)).join("  ");
    const parts = [
      what,
      `${inserted.toLocaleString("en")} of ${count(messages, "message")} added`,
      ...(updated > 0 ? [`${updated.toLocaleString("en")} completed`] : []),
      ...(compactions > 0 ? [count(compactions, "summary", "summaries")] : []),
      ...(kinds.length > 0 ? [besideLine(kinds)] : []),
      ...(left > 0 ? [`${count(left, "session")} not imported`] : []),
      ...(this.#skipped > 0 ? [`${this.#skipped.toLocaleString("en")} left out:`] : []),
    ];
    return `${this.file}: ${parts.join(", ")}\n${this.#leftOut()}`;
  }

  #leftOut(): string {
    const shown = this.#shown.map(({ line, path, why, session }) => {
      const ofMany = this.#only === null ? `${oneLine(session)}: ` : "";
      const place = line === 0 ? ofMany : `line ${line}${path ? `, ${path}` : ""}: `;
      return `  ${place}${oneLine(why, 200)}\n`;
    });
    const more = this.#skipped - shown.length;
    const others = more > 0 ? `  … and ${more.toLocaleString("en")} more; --json lists them\n` : "";
    return shown.join("") + others;
  }
}

// The most frequent kinds.
function besideLine(kinds: readonly (readonly [kind: string, count: number])[]): string {
  const named = kinds.slice(0, 3).map(([kind, count]) => `${count.toLocaleString("en")} ${oneLine(kind, 30)}`);
  return `kept beside them: ${[...named, ...(kinds.length > 3 ? ["…"] : [])].join(", ")}`;
}
