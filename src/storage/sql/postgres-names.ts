/** What is ours in a database. */
export const TABLES = [
  "assistant_schema",
  "assistant_messages",
  "assistant_branches",
  "assistant_compactions",
  "assistant_sessions",
  "assistant_media",
  "assistant_media_refs",
  "assistant_fts",
  "cf_agents_context_blocks",
  "cf_agents_search_entries",
  "cf_agents_search_fts",
] as const;

const OTHERS = [
  "assistant_append",
  "assistant_path",
  "agents_before_upgrade_assistant_messages",
  "agents_before_upgrade_assistant_compactions",
];

const OURS = new RegExp(`\\b(?:${[...TABLES, ...OTHERS].join("|")})\\b`, "g");

/** A statement with the names of our tables and functions qualified by `schema`; as it is without one. */
export function qualify(sql: string, schema: string | null): string {
  return schema === null ? sql : sql.replace(OURS, (name) => `${quoteIdentifier(schema)}.${name}`);
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
