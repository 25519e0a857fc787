import { isoNow } from "../operations/clock.js";
import { makeRow } from "../operations/register.js";
import { isJson, isText, isTime } from "./findings.js";
import { needsSession, rowCheck } from "./row-check.js";

export const ENTRIES = rowCheck({
  table: "cf_agents_search_entries",
  rule: "entry",
  key: ["session_id", "label", "key"],
  columns: ["content", "value", "created_at", "updated_at"],
  idOf: ({ key }) => key,
  rulesFor: (row) => [
    [!needsSession(row), "Its session is not in the registry."],
    [isText(row.key) && row.key !== "", "Its name is none."],
    [isText(row.content), "Its content is no text."],
    [row.value === null || isJson(row.value), "Its value is no JSON."],
    [isTime(row.created_at) && isTime(row.updated_at), "When it was written is no time."],
  ],
  *mend(sql, row, write) {
    if (needsSession(row) && isText(row.session_id)) yield* makeRow(sql, row.session_id);
    for (const column of ["created_at", "updated_at"] as const) {
      if (!isTime(row[column])) yield* write(`UPDATE cf_agents_search_entries SET ${column} = ?`, isoNow());
    }
  },
});
