import type { Usage, UsageRequest, UsageRow, UsageSum } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { all, count, type Operation, run, type SqlValue } from "../engine/operation.js";

const DEFAULT_LIMIT = 100;

const COLUMNS = { day: "u.day", model: "u.model", session: "u.session_id" } as const;

/** The sum of a column and a value that is passed three times. It stops where numbers are no longer exact. */
export function exactSum(column: string): string {
  const most = Number.MAX_SAFE_INTEGER;
  return `CASE WHEN ${column} + ? > ${most} THEN ${most} WHEN ${column} + ? < -${most} THEN -${most} ELSE ${column} + ? END`;
}

/** Counts a request of a session for the present day, in UTC, and a model. */
export function* countRequest(
  sessionId: string,
  model: string,
  { inputTokens, outputTokens, cost }: Usage,
): Operation<void> {
  const day = new Date().toISOString().slice(0, 10);
  // Not ON CONFLICT with columns: where tenants share the tables, the key has one more.
  const counted = yield* count(
    `UPDATE assistant_usage SET requests = requests + 1, input_tokens = ${exactSum("input_tokens")},
       output_tokens = ${exactSum("output_tokens")}, cost = cost + ? WHERE session_id = ? AND day = ? AND model = ?`,
    [
      ...[inputTokens, inputTokens, inputTokens],
      ...[outputTokens, outputTokens, outputTokens],
      ...[cost, sessionId, day, model],
    ],
  );
  if (counted === 0) yield* insertUsageRows(sessionId, [{ day, model, requests: 1, inputTokens, outputTokens, cost }]);
}

/** See `SessionRegistry.usageRows`. */
export function* readUsageRows(sql: Dialect, sessionId: string): Operation<UsageRow[]> {
  const rows = yield* all<UsageTableRow>(
    `SELECT day, model, requests, input_tokens, output_tokens, cost FROM assistant_usage
     WHERE session_id = ? ORDER BY day, ${sql.bytes.ordered("model")}`,
    sessionId,
  );
  return rows.map((row) => ({
    day: row.day,
    model: row.model,
    requests: Number(row.requests),
    inputTokens: Number(row.input_tokens),
    outputTokens: Number(row.output_tokens),
    cost: Number(row.cost),
  }));
}

interface UsageTableRow {
  readonly day: string;
  readonly model: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly cost: number;
}

/** Writes rows that were counted elsewhere; one of a day and a model that is there stays. */
export function* insertUsageRows(sessionId: string, rows: readonly UsageRow[]): Operation<void> {
  for (const { day, model, requests, inputTokens, outputTokens, cost } of rows) {
    yield* run(
      `INSERT INTO assistant_usage (session_id, day, model, requests, input_tokens, output_tokens, cost)
       VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      ...[sessionId, day, model, requests, inputTokens, outputTokens, cost],
    );
  }
}

/** See `SessionRegistry.usage`. */
export function* readUsage({ by, limit = DEFAULT_LIMIT, ...request }: UsageRequest): Operation<UsageSum[]> {
  const { where, values } = usageFilter(request);
  const rows = yield* all<Record<"name" | "requests" | "input" | "output" | "cost", number | string>>(
    `SELECT ${COLUMNS[by]} AS name, sum(u.requests) AS requests, sum(u.input_tokens) AS input,
       sum(u.output_tokens) AS output, sum(u.cost) AS cost
     FROM assistant_usage u JOIN assistant_sessions s ON s.id = u.session_id ${where}
     GROUP BY ${COLUMNS[by]} ORDER BY ${by === "day" ? "" : "5 DESC, 3 DESC, "}1 DESC LIMIT ?`,
    ...values,
    limit,
  );
  return rows.map(({ name, requests, input, output, cost }) => ({
    name: String(name),
    requests: Number(requests),
    inputTokens: Number(input),
    outputTokens: Number(output),
    cost: Number(cost),
  }));
}

function usageFilter({ sessionId, userId, from, to }: Omit<UsageRequest, "by" | "limit">) {
  const given: readonly (readonly [string, SqlValue | undefined])[] = [
    ["u.session_id = ?", sessionId],
    ["s.user_id = ?", userId],
    ["u.day >= ?", from],
    ["u.day <= ?", to],
  ];
  const set = given.filter(([, value]) => value !== undefined);
  return {
    where: set.length === 0 ? "" : `WHERE ${set.map(([condition]) => condition).join(" AND ")}`,
    values: set.map(([, value]) => value as SqlValue),
  };
}

/** Removes what a session used. */
export function* removeUsage(sessionId: string): Operation<void> {
  yield* run("DELETE FROM assistant_usage WHERE session_id = ?", sessionId);
}
