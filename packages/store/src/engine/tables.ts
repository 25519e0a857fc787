import { StemmaError } from "@stemma/model";

/** The tables that hold what cannot be made again, and the version that made each. */
export const DATA_TABLES: Readonly<Record<string, number>> = {
  assistant_messages: 1,
  assistant_branches: 1,
  assistant_compactions: 1,
  assistant_sessions: 1,
  assistant_media: 1,
  assistant_media_refs: 1,
  cf_agents_context_blocks: 1,
  cf_agents_search_entries: 1,
  assistant_records: 3,
  assistant_versions: 5,
  assistant_usage: 6,
};

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

/** The table of ours that an error of an engine says is not there; null for any other. */
export function missingTable(message: string): string | null {
  return /(?:no such table: |relation ")(?:[^"\s]*\.)?((?:assistant|cf_agents)_\w+)/.exec(message)?.[1] ?? null;
}
