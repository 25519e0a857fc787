import type { Skipped } from "../session-file.js";

/** What an import did with one session, with the memory of a user or a key, or with a piece of a long one. */
export interface ImportReport {
  session: string;
  name: string;
  /** Messages of the file that the session now has. */
  messages: number;
  /** Those of them that it had not before. */
  inserted: number;
  /** Those that were incomplete, and of which the file now has more: the results of tools, as a rule. */
  updated: number;
  compactions: number;
  /** What was kept word for word because nothing reads it: how many pieces of each kind. */
  kept: Record<string, number>;
  /** What was left out. */
  skipped: Skipped[];
}

/** What an import did with a session whose pieces it reported one by one. */
export function addReports(first: ImportReport, next: ImportReport): ImportReport {
  const kinds = new Set([...Object.keys(first.kept), ...Object.keys(next.kept)]);
  const countOf = (kept: Record<string, number>, kind: string) => (Object.hasOwn(kept, kind) ? (kept[kind] ?? 0) : 0);
  return {
    session: next.session,
    name: next.name,
    messages: first.messages + next.messages,
    inserted: first.inserted + next.inserted,
    updated: first.updated + next.updated,
    compactions: first.compactions + next.compactions,
    kept: Object.fromEntries([...kinds].map((kind) => [kind, countOf(first.kept, kind) + countOf(next.kept, kind)])),
    skipped: [...first.skipped, ...next.skipped],
  };
}
