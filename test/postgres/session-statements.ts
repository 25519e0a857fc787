/** The tables that hold rows of a session, and the column that names it. */
const TABLES: Readonly<Record<string, string>> = {
  assistant_sessions: "id",
  assistant_messages: "session_id",
  assistant_branches: "session_id",
  assistant_compactions: "session_id",
  assistant_media: "session_id",
  assistant_media_refs: "session_id",
  assistant_fts: "session_id",
  assistant_records: "session_id",
  assistant_versions: "session_id",
  assistant_usage: "session_id",
  assistant_vectors: "session_id",
  assistant_entry_vectors: "session_id",
  cf_agents_context_blocks: "session_id",
  cf_agents_search_entries: "session_id",
  cf_agents_search_fts: "session_id",
};

/** What is of all sessions, whoever asks. */
const OF_ALL: readonly RegExp[] = [
  // A write of a record that expires takes away some whose time has come, of any session.
  /^DELETE FROM \S*assistant_records WHERE \(session_id, label, key\) IN\s+\(SELECT .* WHERE expires_at <= /s,
  // Which blocks and entries were written in the session, also those of users.
  /FROM \S*assistant_versions\s+WHERE written_in = /,
];

const NAME = String.raw`(?:"[^"]*"\.|\w+\.)?(\w+)`;
const MENTION = new RegExp(String.raw`\b(FROM|JOIN|INTO|UPDATE)\s+${NAME}(?:\s+(?:AS\s+)?(\w+))?`, "gi");
const NO_ALIAS = /^(?:WHERE|SET|ON|ORDER|GROUP|LIMIT|CROSS|LEFT|JOIN|VALUES|SELECT|FOR|UNION|USING|INTO)$/i;

/** The tables of which a statement does not say whose rows it means, each as often as it is named. `isOwn` tells what means the session. */
export function unnamedTables(text: string, isOwn: (value: string) => boolean): string[] {
  if (OF_ALL.some((each) => each.test(text.trim()))) return [];
  const unnamed: string[] = [];
  for (const found of text.matchAll(MENTION)) {
    const [mention, kind = "", table = "", word] = found;
    const key = TABLES[table];
    if (key === undefined) continue;
    const alias = word === undefined || NO_ALIAS.test(word) ? null : word;
    const query = queryAround(text, found.index);
    const isNamed =
      kind.toUpperCase() === "INTO"
        ? new RegExp(String.raw`^[^(]*\(\s*[^)]*\b${key}\b`).test(text.slice(found.index))
        : namesSession(query, alias, key, isOwn);
    if (!isNamed) unnamed.push(mention);
  }
  return unnamed;
}

// The query in parentheses, or the statement, in which a table is named.
function queryAround(text: string, at: number): string {
  let depth = 0;
  let start = at;
  for (; start > 0; start -= 1) {
    if (text[start] === ")") depth += 1;
    if (text[start] === "(") depth -= 1;
    if (depth < 0) break;
  }
  let end = at;
  for (depth = 0; end < text.length; end += 1) {
    if (text[end] === "(") depth += 1;
    if (text[end] === ")") depth -= 1;
    if (depth < 0) break;
  }
  // A subquery may be of the rows around it.
  return text.slice(start, end);
}

function namesSession(query: string, alias: string | null, key: string, isOwn: (value: string) => boolean): boolean {
  const column = alias === null ? String.raw`(?<![.\w])${key}` : String.raw`\b${alias}\.${key}`;
  for (const [, list, value = ""] of query.matchAll(
    new RegExp(String.raw`${column}\s*(?:IN\s*\(([^)]*)\)|=\s*([\w$.]+))`, "g"),
  )) {
    const values = list === undefined ? [value] : list.split(/,\s*/);
    // The rows of another table's session, which is looked at by itself.
    if (values.every((each) => isOwn(each) || /^\w+\.(?:session_id|id)$/.test(each))) return true;
  }
  // In an equation the other way round.
  const other = new RegExp(String.raw`\b\w+\.session_id = ${alias}\.${key}\b`);
  return alias !== null && other.test(query);
}
