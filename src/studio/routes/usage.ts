import type { UsageRequest } from "../../storage/contract.js";
import type { UsageRow, UsageSum, UsageView } from "../api.js";
import { findSession, read, type StudioCall } from "../route.js";

const MOST_ROWS = 400;

export const usageRoutes = [read("usage", usage)];

async function usage({ store, fields }: StudioCall): Promise<UsageView> {
  const sessionId = fields.optionalText("id");
  if (sessionId !== undefined) await findSession(store, sessionId);
  const narrowed: Omit<UsageRequest, "by"> = {
    sessionId,
    userId: fields.optionalText("user"),
    from: fields.optionalText("from"),
    to: fields.optionalText("to"),
    limit: MOST_ROWS,
  };
  const rows = await store.sessions.usage({ ...narrowed, by: fields.oneOf("by", ["day", "model", "session"]) });
  // The total is of all rows, also of those that are not shown: there are few models.
  const all = rows.length < MOST_ROWS ? rows : await store.sessions.usage({ ...narrowed, by: "model" });
  return { rows, total: all.reduce(added, { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 }) };
}

function added(sum: UsageSum, row: UsageRow): UsageSum {
  return {
    requests: sum.requests + row.requests,
    inputTokens: sum.inputTokens + row.inputTokens,
    outputTokens: sum.outputTokens + row.outputTokens,
    cost: sum.cost + row.cost,
  };
}
