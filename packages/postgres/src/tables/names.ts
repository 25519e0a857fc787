import { sha256 } from "@stemma/model";
import { DATA_TABLES, INDEX_TABLES } from "@stemma/store";

/** The tables that are ours in a database. */
export const TABLES: readonly string[] = ["assistant_schema", ...DATA_TABLES, ...Object.values(INDEX_TABLES)];

const OTHERS = [
  "assistant_embedder",
  "assistant_vectors",
  "assistant_entry_vectors",
  "assistant_vector_signs",
  "assistant_append",
  "assistant_append_all",
  "assistant_append_each",
  "assistant_edited",
  "assistant_entry_written",
  "assistant_hits",
  "assistant_lock",
  "assistant_matches",
  "assistant_newest",
  "assistant_number",
  "assistant_path",
  "assistant_recent",
  "assistant_spread",
  "assistant_version",
  "assistant_view",
  "agents_before_upgrade_assistant_messages",
  "agents_before_upgrade_assistant_compactions",
  "idx_assistant_msg_parent",
  "idx_assistant_msg_session",
  "idx_assistant_msg_fts",
  "idx_search_entries_fts",
  // An index is created without a schema, in that of its table, and dropped with it.
  "assistant_sessions_change(?! ON)",
  "assistant_sessions_of_user(?! ON)",
  "assistant_sessions_tokens(?! ON)",
  "assistant_sessions_cost(?! ON)",
  "assistant_sessions_registered(?! ON)",
  "assistant_fts_terms(?! ON)",
  "cf_agents_search_fts_terms(?! ON)",
  "assistant_messages_n(?! ON)",
  "assistant_compactions_n(?! ON)",
  "cf_agents_search_entries_n(?! ON)",
];

// A quoted identifier is someone else's name, whatever it holds.
const OURS = new RegExp(`"(?:[^"]|"")*"|('?)\\b(${[...TABLES, ...OTHERS].join("|")})\\b`, "g");

/**
 * A statement with the names of our tables, functions and indexes qualified by `schema`; as it is without one. A name in a
 * literal of SQL (`'name'::regclass`) stands right behind its opening quote.
 */
export function qualify(sql: string, schema: string | null): string {
  if (schema === null) return sql;
  const space = quoteIdentifier(schema);
  return sql.replace(OURS, (found, quote, name) =>
    name === undefined ? found : `${quote}${quote ? space.replaceAll("'", "''") : space}.${name}`,
  );
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Spreads new tables where tables are spread over servers; nothing elsewhere. */
export const SPREAD_NEW = `DO $$ BEGIN
  IF to_regprocedure('assistant_spread()') IS NOT NULL THEN PERFORM assistant_spread(); END IF;
END $$`;

/** The codes of the server where a name stands for no statement, for another one, or for what gave other columns. Nothing was done then. */
const LOST = new Set([
  "26000", // invalid_sql_statement_name
  "42P05", // duplicate_prepared_statement
  "0A000", // feature_not_supported: a cached plan must not change its result type
]);

/** Names under which the server keeps statements. */
interface StatementNames {
  /** The statement's name, the same for the same text in whatever process: behind a pooler, connections may meet. Null once they are lost. */
  nameOf(text: string): string | null;
  /** True for an error that says that names do not last here: from then on there are none. */
  areLost(error: unknown): boolean;
}

export function statementNames(): StatementNames {
  const names = new Map<string, string>();
  let last = true;
  const nameFor = (text: string): string => {
    const name = `stemma_${sha256(text).slice(0, 32)}`;
    names.set(text, name);
    return name;
  };
  return {
    nameOf: (text) => (last ? (names.get(text) ?? nameFor(text)) : null),
    areLost(error) {
      if (!LOST.has(String((error as { code?: unknown } | null)?.code))) return false;
      last = false;
      return true;
    },
  };
}
