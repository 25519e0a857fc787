import { invalid } from "@stemma/model";
import { LEARNING, type Usage, type UsageRequest, type UsageRow, type UsageSum } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, count, type Operation, run, type SqlValue } from "../../engine/operation.js";
import { assertCount, assertStorable } from "../assert-storable.js";
import { isoNow } from "./session-head.js";
import { getSession } from "./sessions.js";

/** The sum of a column and a value that is passed three times. It stops where numbers are no longer exact. */
function exactSum(column: string): string {
  const most = Number.MAX_SAFE_INTEGER;
  return `CASE WHEN ${column} + ? > ${most} THEN ${most} WHEN ${column} + ? < -${most} THEN -${most} ELSE ${column} + ? END`;
}

/** Throws `INVALID_ARGUMENT` for what counters cannot add exactly. */
function assertUsage({ inputTokens, outputTokens, cost }: Usage): void {
  const isCountable = Number.isSafeInteger(inputTokens) && Number.isSafeInteger(outputTokens);
  if (isCountable && Math.abs(cost) <= Number.MAX_SAFE_INTEGER) return;
  const message = "Usage is counted in whole numbers of input and output tokens, and a cost.";
  throw invalid(message, { inputTokens, outputTokens, cost });
}

/** Counts a request of a session for the present day, in UTC, and a model. */
function* countRequest(sessionId: string, model: string, { inputTokens, outputTokens, cost }: Usage): Operation<void> {
  const day = new Date().toISOString().slice(0, 10);
  // Not ON CONFLICT with columns: where tenants share the tables, the key has one more.
  const counted = yield* count(
    `UPDATE assistant_usage SET requests = requests + 1, input_tokens = ${exactSum("input_tokens")},
       output_tokens = ${exactSum("output_tokens")}, cost = ${exactSum("cost")} WHERE session_id = ? AND day = ? AND model = ?`,
    ...[inputTokens, inputTokens, inputTokens],
    ...[outputTokens, outputTokens, outputTokens],
    ...[cost, cost, cost],
    ...[sessionId, day, model],
  );
  if (counted === 0) yield* insertUsageRow(sessionId, { day, model, requests: 1, inputTokens, outputTokens, cost });
}

/** The operation behind `SessionRegistry.usageRows`. */
export function* readUsageRows(sql: Dialect, sessionId: string): Operation<UsageRow[]> {
  const query = `SELECT day, model, requests, input_tokens, output_tokens, cost FROM assistant_usage
     WHERE session_id = ? ORDER BY day, ${sql.bytes.ordered("model")}`;
  const rows = yield* all<UsageTableRow>(query, sessionId);
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

function* insertUsageRow(sessionId: string, row: UsageRow): Operation<void> {
  const { day, model, requests, inputTokens, outputTokens, cost } = row;
  const insertion = `INSERT INTO assistant_usage (session_id, day, model, requests, input_tokens, output_tokens, cost)
     VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`;
  yield* run(insertion, ...[sessionId, day, model, requests, inputTokens, outputTokens, cost]);
}

// Counters only grow: of two states of a counter the larger is the later one.
const RAISED = ["requests", "input_tokens", "output_tokens", "cost"]
  .map((column) => `${column} = CASE WHEN ${column} < ? THEN ? ELSE ${column} END`)
  .join(", ");

/** Writes a row that was counted elsewhere. Where its day and model have one, each counter gets the larger value. */
function* raiseUsageRow(sessionId: string, row: UsageRow): Operation<void> {
  const { day, model, requests, inputTokens, outputTokens, cost } = row;
  const values = [requests, inputTokens, outputTokens, cost].flatMap((value) => [value, value]);
  const update = `UPDATE assistant_usage SET ${RAISED} WHERE session_id = ? AND day = ? AND model = ?`;
  if ((yield* count(update, ...values, sessionId, day, model)) === 0) yield* insertUsageRow(sessionId, row);
}

/** Removes what a session used. */
export function* removeUsage(sessionId: string): Operation<void> {
  yield* run("DELETE FROM assistant_usage WHERE session_id = ?", sessionId);
}

/** The operation behind `SessionRegistry.addUsage`. */
export function* addUsage(
  sql: Dialect,
  id: string,
  usage: Usage,
  { model = "", userId }: { readonly model?: string | undefined; readonly userId?: string | undefined },
): Operation<void> {
  assertUsage(usage);
  assertStorable("Usage's", { model });
  yield* getSession(sql, id, userId);
  yield* countRequest(id, model, usage);
  // What is learned of a session later on is no change of it: lists and retention go by the chat.
  yield* addToTotal(id, usage, model !== LEARNING);
}

/** The operation behind `SessionRegistry.importUsage`. */
export function* importUsage(
  sql: Dialect,
  id: string,
  total: Usage,
  { rows = [], userId }: { readonly rows?: readonly UsageRow[] | undefined; readonly userId?: string | undefined } = {},
): Operation<void> {
  for (const usage of [total, ...rows]) assertUsage(usage);
  for (const { model } of rows) assertStorable("Usage's", { model });
  yield* getSession(sql, id, userId);
  for (const row of rows) yield* raiseUsageRow(id, row);
  yield* addToTotal(id, total);
}

function* addToTotal(id: string, { inputTokens, outputTokens, cost }: Usage, isDated = true): Operation<void> {
  const [dated, now] = isDated ? [", updated_at = ?", [isoNow()]] : ["", []];
  yield* run(
    `UPDATE assistant_sessions SET input_tokens = ${exactSum("input_tokens")}, output_tokens = ${exactSum("output_tokens")},
       estimated_cost = ${exactSum("estimated_cost")}, changes = changes + 1${dated} WHERE id = ?`,
    ...[inputTokens, inputTokens, inputTokens],
    ...[outputTokens, outputTokens, outputTokens],
    ...[cost, cost, cost],
    ...now,
    id,
  );
}

const DEFAULT_LIMIT = 100;

const COLUMNS = { day: "u.day", model: "u.model", session: "u.session_id" } as const;

/** The operation behind `SessionRegistry.usage`. */
export function* readUsage({ by, limit = DEFAULT_LIMIT, ...request }: UsageRequest): Operation<UsageSum[]> {
  assertCount(limit, "The limit of a list");
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
