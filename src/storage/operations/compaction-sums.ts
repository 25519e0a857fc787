import type { CompactionSum, CompactionSumRequest } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, type SqlValue } from "../engine/operation.js";

const DEFAULT_LIMIT = 100;

/** See `SessionRegistry.compactionSums`. By an index that holds no summaries. */
export function* sumCompactions(
  sql: Dialect,
  { by, sessionId, userId, from, to, limit = DEFAULT_LIMIT }: CompactionSumRequest,
): Operation<CompactionSum[]> {
  const day = sql.dayOf("c.created_at");
  const name = { day, session: "c.session_id", compaction: "c.id" }[by];
  const given: readonly (readonly [string, SqlValue | undefined])[] = [
    ["c.session_id = ?", sessionId],
    ["c.session_id IN (SELECT s.id FROM assistant_sessions s WHERE s.user_id = ?)", userId],
    [`${day} >= ?`, from],
    [`${day} <= ?`, to],
  ];
  const set = given.filter(([, value]) => value !== undefined);
  const rows = yield* all<Record<keyof CompactionSum, number | string>>(
    `SELECT ${name} AS name, count(*) AS compactions, sum(c.covered_tokens) AS "tokensBefore", sum(c.tokens) AS "tokensAfter"
     FROM assistant_compactions c WHERE ${["c.covered_tokens IS NOT NULL", ...set.map(([condition]) => condition)].join(" AND ")}
     GROUP BY ${by === "compaction" ? "c.session_id, c.id" : "1"}
     ORDER BY ${by === "day" ? "" : "sum(c.covered_tokens - c.tokens) DESC, "}1 DESC LIMIT ?`,
    ...set.map(([, value]) => value as SqlValue),
    limit,
  );
  return rows.map((row) => ({
    name: String(row.name),
    compactions: Number(row.compactions),
    tokensBefore: Number(row.tokensBefore),
    tokensAfter: Number(row.tokensAfter),
  }));
}
