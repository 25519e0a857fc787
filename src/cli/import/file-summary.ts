import { addReports, type ImportReport } from "../../formats/import/report.js";
import type { ParsedSession, Skipped } from "../../formats/session-file.js";
import { count, oneLine } from "../text.js";

/** Lines of what was left out that a terminal is shown; JSON has them all. */
const MAX_SKIPPED_SHOWN = 10;

/** The report of a session of which nothing could be stored, but for what says which one it is. */
export const NOTHING = { messages: 0, inserted: 0, updated: 0, compactions: 0, kept: {} };

/** What is told of a session. */
export type SummarisedSession = Pick<ParsedSession, "id" | "name" | "skipped">;

/** What an import did with a file: one line, and below it what was left out. */
export class FileSummary {
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
      ...(kinds.length > 0 ? [keptBeside(kinds)] : []),
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
function keptBeside(kinds: readonly (readonly [kind: string, count: number])[]): string {
  const named = kinds.slice(0, 3).map(([kind, count]) => `${count.toLocaleString("en")} ${oneLine(kind, 30)}`);
  return `kept beside them: ${[...named, ...(kinds.length > 3 ? ["…"] : [])].join(", ")}`;
}
