import { StemmaError } from "@stemma/model";

/** The tables that hold what cannot be made again. */
export const DATA_TABLES: readonly string[] = [
  "assistant_messages",
  "assistant_branches",
  "assistant_compactions",
  "assistant_sessions",
  "assistant_media",
  "assistant_media_refs",
  "cf_agents_context_blocks",
  "cf_agents_search_entries",
  "assistant_records",
  "assistant_versions",
  "assistant_usage",
];

/** Those that `agents` and the DDL of the documents make too: where another one is, stemma was. */
export const SHARED_TABLES: readonly string[] = [
  "assistant_messages",
  "assistant_compactions",
  "assistant_sessions",
  "cf_agents_context_blocks",
  "cf_agents_search_entries",
];

/** The error for a database that lacks `missing`, although `left` is there. */
export function tablesMissing(missing: readonly string[], left: string, options?: { cause?: unknown }): StemmaError {
  const one = missing.length === 1;
  const what = `${one ? "The table" : "The tables"} ${missing.join(", ")} ${one ? "is" : "are"} missing`;
  const message = `${what}, although ${left}. Another program dropped ${one ? "it" : "them"}, as "drizzle-kit push" does without tablesFilter, or the search path leads elsewhere. Restore what is missing from a backup. docs/errors.md says how to begin anew.`;
  return new StemmaError("TABLES_MISSING", { tables: missing }, message, options);
}

/** The table of ours that an error of SQLite says is not there; null for any other. */
export function missingTable(message: string): string | null {
  return /no such table: (?:[^"\s]*\.)?((?:assistant|cf_agents)_\w+)/.exec(message)?.[1] ?? null;
}
