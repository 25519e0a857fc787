import type { UsageRequest, UsageSum } from "../contract.js";
import { all, type Operation, type SqlValue } from "../engine/operation.js";

const DEFAULT_LIMIT = 100;

const COLUMNS = { day: "u.day", model: "u.model", session: "u.session_id" } as const;

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
