import type { CompactionSum, Store, UsageRequest } from "../../storage/contract.js";
import type { Saved, UsageRow, UsageSum, UsageView } from "../api.js";
import { findSession, read, type StudioCall } from "../route.js";

const MOST_ROWS = 400;
/** More than anybody has. */
const ALL_DAYS = 100_000;

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
  const by = fields.oneOf("by", ["day", "model", "session"]);
  const rows = await store.sessions.usage({ ...narrowed, by });
  // The total is of all rows, also of those that are not shown: there are few models.
  const all = rows.length < MOST_ROWS ? rows : await store.sessions.usage({ ...narrowed, by: "model" });
  return {
    rows,
    total: all.reduce(added, { requests: 0, inputTokens: 0, outputTokens: 0, cost: 0 }),
    compactions: await compactions(store, narrowed, by),
  };
}

async function compactions(
  store: Store,
  narrowed: Omit<UsageRequest, "by">,
  usageBy: UsageRequest["by"],
): Promise<UsageView["compactions"]> {
  const by = usageBy === "day" ? "day" : narrowed.sessionId === undefined ? "session" : "compaction";
  const rows = await store.sessions.compactionSums({ ...narrowed, by });
  // The total is of all rows here too.
  const all =
    rows.length < MOST_ROWS ? rows : await store.sessions.compactionSums({ ...narrowed, by: "day", limit: ALL_DAYS });
  return { by, rows, total: all.reduce(joined, { compactions: 0, tokensBefore: 0, tokensAfter: 0 }) };
}

function joined(sum: Saved, row: CompactionSum): Saved {
  return {
    compactions: sum.compactions + row.compactions,
    tokensBefore: sum.tokensBefore + row.tokensBefore,
    tokensAfter: sum.tokensAfter + row.tokensAfter,
  };
}

function added(sum: UsageSum, row: UsageRow): UsageSum {
  return {
    requests: sum.requests + row.requests,
    inputTokens: sum.inputTokens + row.inputTokens,
    outputTokens: sum.outputTokens + row.outputTokens,
    cost: sum.cost + row.cost,
  };
}
