import type { Store, UsageRequest } from "@stemma/store";
import type { Named, UsageView } from "../api.js";
import { findNames, findSession, read, type StudioCall } from "../route.js";

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
    rows: by === "session" ? await named(store, rows) : rows,
    total: sumOf(all, ["requests", "inputTokens", "outputTokens", "cost"]),
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
  return {
    by,
    rows: by === "session" ? await named(store, rows) : rows,
    total: sumOf(all, ["compactions", "tokensBefore", "tokensAfter"]),
  };
}

async function named<R extends { readonly name: string }>(store: Store, rows: readonly R[]): Promise<Named<R>[]> {
  const names = await findNames(
    store,
    rows.map(({ name: id }) => id),
  );
  return rows.map((row) => ({ ...row, sessionName: names.get(row.name) }));
}

/** The sum of each field over all rows. */
function sumOf<F extends string>(rows: readonly Record<F, number>[], fields: readonly F[]): Record<F, number> {
  const sums = fields.map((field) => [field, rows.reduce((sum, row) => sum + row[field], 0)]);
  return Object.fromEntries(sums);
}
