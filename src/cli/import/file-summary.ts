import type { ImportReport } from "../../formats/import/report.js";
import type { ParsedSession, Skipped } from "../../formats/session-file.js";
import { count, oneLine } from "../text.js";

/** Lines of what was left out that a terminal is shown; JSON has them all. */
const MAX_SKIPPED_SHOWN = 10;

/** What an import did with a file: one line, and below it what was left out. */
export class FileSummary {
  #sessions: { id: string; name: string; isImported: boolean }[] = [];
  #messages = 0;
  #inserted = 0;
  #updated = 0;
  #compactions = 0;
  readonly #kept = new Map<string, number>();
  readonly #skipped: (Skipped & { session: string })[] = [];

  constructor(private readonly file: string) {}

  get isEmpty(): boolean {
    return this.#sessions.length === 0;
  }

  /** True when the database has something of the file that it had not before. */
  get hasNews(): boolean {
    return this.#inserted + this.#updated > 0;
  }

  get progress(): string {
    return `${this.file}: ${count(this.#sessions.length, "session")}, ${count(this.#messages, "message")}`;
  }

  /** `report` is null for a session of which nothing could be stored. */
  add(session: ParsedSession, report: ImportReport | null): void {
    const id = report?.session ?? session.id;
    this.#sessions.push({ id, name: session.name, isImported: report !== null });
    this.#messages += report?.messages ?? 0;
    this.#inserted += report?.inserted ?? 0;
    this.#updated += report?.updated ?? 0;
    this.#compactions += report?.compactions ?? 0;
    for (const [kind, count] of Object.entries(report?.kept ?? {}))
      this.#kept.set(kind, (this.#kept.get(kind) ?? 0) + count);
    for (const skipped of (report ?? session).skipped) this.#skipped.push({ ...skipped, session: id });
  }

  toString(): string {
    const [only, ...others] = this.#sessions;
    const left = this.#sessions.filter(({ isImported }) => !isImported).length;
    const what =
      only === undefined || others.length > 0
        ? count(this.#sessions.length, "session")
        : [only.id, ...(only.name === only.id ? [] : [only.name])].map((text) => oneLine(text)).join("  ");
    const parts = [
      what,
      `${this.#inserted.toLocaleString("en")} of ${count(this.#messages, "message")} added`,
      ...(this.#updated > 0 ? [`${this.#updated.toLocaleString("en")} completed`] : []),
      ...(this.#compactions > 0 ? [count(this.#compactions, "summary", "summaries")] : []),
      ...(this.#kept.size > 0 ? [this.#keptBeside()] : []),
      ...(left > 0 ? [`${count(left, "session")} not imported`] : []),
      ...(this.#skipped.length > 0 ? [`${this.#skipped.length} left out:`] : []),
    ];
    return `${this.file}: ${parts.join(", ")}\n${this.#leftOut(others.length > 0)}`;
  }

  #keptBeside(): string {
    const kinds = [...this.#kept].sort(([, a], [, b]) => b - a);
    const named = kinds.slice(0, 3).map(([kind, count]) => `${count.toLocaleString("en")} ${oneLine(kind, 30)}`);
    return `kept beside them: ${[...named, ...(kinds.length > 3 ? ["…"] : [])].join(", ")}`;
  }

  #leftOut(isOfMany: boolean): string {
    const shown = this.#skipped.slice(0, MAX_SKIPPED_SHOWN).map(({ line, path, why, session }) => {
      const place = line === 0 ? (isOfMany ? `${oneLine(session)}: ` : "") : `line ${line}${path ? `, ${path}` : ""}: `;
      return `  ${place}${oneLine(why, 200)}\n`;
    });
    const more = this.#skipped.length - shown.length;
    return shown.join("") + (more > 0 ? `  … and ${more} more; --json lists them\n` : "");
  }
}
