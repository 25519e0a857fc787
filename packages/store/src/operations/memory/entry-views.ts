import type { EntryScope, EntryView, ListEntriesOptions, ListedEntry } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, type Condition, type Operation } from "../../engine/operation.js";
import { inScope } from "../messages/upgraded-rows.js";
import { isoNow } from "../registry/session-head.js";
import { type KeptFact, keptFact, shownFact, timeIn } from "./entry-fact.js";
import { assertFilter, fits } from "./entry-filter.js";
import { ENTRY_COLUMNS, type EntryRow, entryOf, factOf } from "./entry-rows.js";
import { orderedPage } from "./ordered-page.js";
import { entryVersionKey, readVersions } from "./versions.js";

/** How a read chooses among entries `e`. */
export interface ChosenEntries extends Condition {
  /** True where the condition is all of it: `show` gives an entry for each row. */
  readonly isWhole: boolean;
  /** The entry of a row as the view has it; null for one that it lacks. */
  show(row: EntryRow): Operation<ListedEntry | null>;
}

/** All entries of a scope. */
export const EVERY: EntryView = { includeEnded: true, includeExpired: true };

/** The entries of a view. Errors: `INVALID_ARGUMENT`. */
export function chosenBy(scope: EntryScope, view: EntryView): ChosenEntries {
  const { includeEnded = false, includeExpired = false, filter } = view;
  const now = isoNow();
  const knownAt = view.knownAt === undefined ? null : timeIn(view.knownAt, "knownAt");
  const asOf = view.asOf === undefined ? (knownAt ?? now) : timeIn(view.asOf, "asOf");
  if (filter !== undefined) assertFilter(filter);
  const parts: Condition[] = [];
  if (!includeExpired) parts.push({ condition: "(e.expires_at IS NULL OR e.expires_at > ?)", values: [now] });
  // What was known then may say otherwise than the columns.
  if (knownAt !== null) parts.push({ condition: "e.created_at <= ?", values: [knownAt] });
  else if (!includeEnded) {
    parts.push({ condition: "(e.valid_from IS NULL OR e.valid_from <= ?)", values: [asOf] });
    parts.push({ condition: "(e.valid_to IS NULL OR e.valid_to > ?)", values: [asOf] });
  }
  const isIn = (entry: ListedEntry) => filter === undefined || fits(filter, entry);
  const holds = ({ validFrom, validTo }: ListedEntry) =>
    includeEnded || ((validFrom === null || validFrom <= asOf) && (validTo === null || validTo > asOf));
  return {
    condition: parts.map(({ condition }) => condition).join(" AND ") || "TRUE",
    values: parts.flatMap(({ values }) => values),
    isWhole: knownAt === null && filter === undefined,
    *show(row) {
      const entry = knownAt === null ? entryOf(row) : yield* entryKnownAt(scope, row, knownAt);
      return entry !== null && (knownAt === null || holds(entry)) && isIn(entry) ? entry : null;
    },
  };
}

// The entry as its version of then says, which successors ended as far as that was known.
function* entryKnownAt(scope: EntryScope, row: EntryRow, time: string): Operation<ListedEntry | null> {
  const present = entryOf(row);
  const known = (fact: KeptFact, others: KeptFact): KeptFact => ({
    ...fact,
    ends: [...fact.ends.filter(({ by }) => by === null), ...others.ends.filter(({ by }) => by !== null)].filter(
      ({ invalidatedAt }) => invalidatedAt <= time,
    ),
  });
  const fact = factOf(row);
  if (row.updated_at <= time) return { ...present, ...shownFact(known(fact, fact)) };
  const versions = yield* readVersions(entryVersionKey(scope, row.key));
  const then = versions.find(({ writtenAt }) => writtenAt <= time);
  if (then === undefined || then.content === null) return null;
  const shown = shownFact(known(keptFact(then.fact), fact));
  return { ...present, content: then.content, ...shown, updatedAt: then.writtenAt };
}

/** How many rows are read at once where most of them may be left out. */
const LOOKED_AT = 500;

/** The operation behind `EntryStore.list`. */
export function* listEntries(sql: Dialect, scope: EntryScope, options: ListEntriesOptions): Operation<ListedEntry[]> {
  const { where, values } = inScope(sql, scope);
  const chosen = chosenBy(scope, options);
  const { limit } = orderedPage(sql, "e.key", options);
  const most = chosen.isWhole ? limit : LOOKED_AT;
  const found: ListedEntry[] = [];
  for (let after = options.after; ; ) {
    const page = orderedPage(sql, "e.key", { ...options, after, limit: most });
    const query = `SELECT ${ENTRY_COLUMNS} FROM cf_agents_search_entries e WHERE ${where} AND ${chosen.condition} AND ${page.condition} ${page.order}`;
    const rows = yield* all<EntryRow>(query, ...values, ...chosen.values, ...page.values, most);
    for (const row of rows) {
      const entry = yield* chosen.show(row);
      if (entry !== null) found.push(entry);
      if (found.length === limit) return found;
    }
    if (rows.length < most) return found;
    after = rows.at(-1)?.key;
  }
}
