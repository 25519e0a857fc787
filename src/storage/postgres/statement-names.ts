import { sha256 } from "../../model/sha256.js";

/** What the server says where a name stands for no statement, for another one, or for what gave other columns. Nothing was done then. */
const LOST = new Set([
  "26000", // invalid_sql_statement_name
  "42P05", // duplicate_prepared_statement
  "0A000", // feature_not_supported: a cached plan must not change its result type
]);

/** Names under which the server keeps statements. */
export interface StatementNames {
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
