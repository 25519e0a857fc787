import { defineOptions, FIRST_TIME, invalid, isJsonObject } from "@stemma/model";
import {
  type EntryFilter,
  type EntryScope,
  type EntryView,
  type FieldFilter,
  type FilterScalar,
  holdsAt,
  type ListEntriesOptions,
  type ListedEntry,
} from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { all, type Condition, type Operation } from "../../engine/operation.js";
import { inScope } from "../messages/upgraded-rows.js";
import { isoNow } from "../registry/session-head.js";
import { timeIn } from "./entry-fact.js";
import { ENTRY_COLUMNS, entryOf } from "./entry-rows.js";
import { KnownEntries, type KnownRow, notBegun, withRemoved } from "./known-entries.js";
import { orderedPage } from "./ordered-page.js";

/** How a read chooses among entries `e`. */
interface ChosenEntries extends Condition {
  /** True where the condition is all of it: `show` gives an entry for each row. */
  readonly isWhole: boolean;
  /** The time of which it gives what was known; null: what is known now. */
  readonly knownAt: string | null;
  /** The entry of a row as the view has it; null for one that it lacks. */
  show(row: KnownRow): Operation<ListedEntry | null>;
}

/** All entries of a scope. */
export const EVERY: EntryView = { includeEnded: true, includeExpired: true };

/** The entries of a view. Errors: `INVALID_ARGUMENT`. */
export function* chosenBy(sql: Dialect, scope: EntryScope, view: EntryView): Operation<ChosenEntries> {
  const { includeEnded = false, includeExpired = false, filter } = view;
  const now = isoNow();
  const given = view.knownAt === undefined ? null : timeIn(view.knownAt, "knownAt");
  const knownAt = given !== null && given < FIRST_TIME ? FIRST_TIME : given;
  const asOf = view.asOf === undefined ? (knownAt ?? now) : timeIn(view.asOf, "asOf");
  if (filter !== undefined) assertFilter(filter);
  const isPast = !includeEnded && asOf < (knownAt ?? now);
  const later: ReadonlySet<string> = isPast ? yield* notBegun(sql, scope, asOf, knownAt) : new Set();
  const parts: Condition[] = [];
  if (!includeExpired) parts.push({ condition: "(e.expires_at IS NULL OR e.expires_at > ?)", values: [now] });
  // What was known then may say otherwise than the columns.
  if (knownAt === null && !includeEnded) {
    parts.push({ condition: "(e.valid_from IS NULL OR e.valid_from <= ?)", values: [asOf] });
    parts.push({ condition: "(e.valid_to IS NULL OR e.valid_to > ?)", values: [asOf] });
    if (later.size > 0) {
      const hasBegun = `(e.valid_from IS NOT NULL OR e.key NOT IN (SELECT text FROM ${sql.textTable} AS later))`;
      parts.push({ condition: hasBegun, values: [JSON.stringify([...later])] });
    }
  }
  // Most rows that lack a tag need not be read.
  for (const tag of (knownAt === null && filter?.tags) || []) {
    parts.push({ condition: "replace(e.fact, ?, '') <> e.fact", values: [JSON.stringify(tag)] });
  }
  const isIn = (entry: ListedEntry) => filter === undefined || fits(filter, entry);
  const known = knownAt === null ? null : new KnownEntries(scope, knownAt);
  // The columns do not tell when an entry expires that is removed, nor when one did as it was known.
  const isExpired = ({ expiresAt }: ListedEntry) => !includeExpired && expiresAt !== null && expiresAt <= now;
  const holds = (entry: ListedEntry) => holdsAt(entry, asOf) && !(entry.validFrom === null && later.has(entry.key));
  const isShown = (entry: ListedEntry) => (includeEnded || holds(entry)) && !isExpired(entry);
  return {
    condition: parts.map(({ condition }) => condition).join(" AND ") || "TRUE",
    values: parts.flatMap(({ values }) => values),
    isWhole: knownAt === null && filter === undefined,
    knownAt,
    *show(row) {
      const entry = known === null ? entryOf(row) : yield* known.show(row);
      return entry !== null && (known === null || isShown(entry)) && isIn(entry) ? entry : null;
    },
  };
}

/** How many rows are read at once where most of them may be left out. */
const LOOKED_AT = 500;

/** The operation behind `EntryStore.list`. */
export function* listEntries(sql: Dialect, scope: EntryScope, options: ListEntriesOptions): Operation<ListedEntry[]> {
  const chosen = yield* chosenBy(sql, scope, options);
  const { columns, condition: rows, values } = source(sql, scope, chosen);
  const { limit } = orderedPage(sql, "e.key", options);
  const most = chosen.isWhole ? limit : LOOKED_AT;
  const found: ListedEntry[] = [];
  for (let after = options.after; ; ) {
    const page = orderedPage(sql, "e.key", { ...options, after, limit: most });
    const query = `SELECT ${columns} FROM ${rows} AND ${chosen.condition} AND ${page.condition} ${page.order}`;
    const read = yield* all<KnownRow>(query, ...values, ...chosen.values, ...page.values, most);
    for (const row of read) {
      const entry = yield* chosen.show(row);
      if (entry !== null) found.push(entry);
      if (found.length === limit) return found;
    }
    if (read.length < most) return found;
    after = read.at(-1)?.key;
  }
}

// The rows that a view looks at.
function source(sql: Dialect, scope: EntryScope, { knownAt }: ChosenEntries): Condition & { readonly columns: string } {
  if (knownAt !== null) {
    const { condition, values } = withRemoved(sql, scope, knownAt);
    return { columns: `${ENTRY_COLUMNS}, removed`, condition: `${condition} WHERE TRUE`, values };
  }
  const { where, values } = inScope(sql, scope);
  return { columns: ENTRY_COLUMNS, condition: `cf_agents_search_entries e WHERE ${where}`, values };
}

const isList = (value: unknown) => (Array.isArray(value) ? undefined : "a list");
const FILTER = defineOptions<EntryFilter>({
  tags: isList,
  value: (value) => (isJsonObject(value) ? undefined : "an object of fields"),
  and: isList,
  or: isList,
});
const FIELD = defineOptions<Extract<FieldFilter, object>>({ in: isList, gte: mayCompare, lt: mayCompare });

function mayCompare(value: string | number): string | undefined {
  return typeof value === "string" || (typeof value === "number" && !Number.isNaN(value))
    ? undefined
    : "a text or a number";
}

/** Throws `INVALID_ARGUMENT` for what is no filter. */
function assertFilter(filter: EntryFilter): void {
  FILTER.assert(filter, "a filter");
  for (const wanted of Object.values(filter.value ?? {})) assertField(wanted);
  for (const one of [...(filter.and ?? []), ...(filter.or ?? [])]) assertFilter(one);
}

function assertField(wanted: FieldFilter): void {
  if (isScalar(wanted)) return;
  FIELD.assert(wanted, "a field's filter");
  if (wanted.in?.every(isValue) === false)
    throw invalid("in of a field's filter must be a list of texts, numbers, true, false or null.");
}

/** True for an entry that a filter fits. */
function fits(filter: EntryFilter, entry: Pick<ListedEntry, "tags" | "value">): boolean {
  const { tags = [], value = {}, and = [], or } = filter;
  return (
    tags.every((tag) => entry.tags.includes(tag)) &&
    Object.entries(value).every(([path, wanted]) => fieldFits(wanted, fieldAt(entry.value, path))) &&
    and.every((one) => fits(one, entry)) &&
    (or === undefined || or.some((one) => fits(one, entry)))
  );
}

// Null where one of the fields is missing.
function fieldAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split(".")) found = isJsonObject(found) && Object.hasOwn(found, name) ? found[name] : null;
  return found ?? null;
}

function fieldFits(wanted: FieldFilter, field: unknown): boolean {
  if (isScalar(wanted)) return wanted === field;
  const { in: list, gte, lt } = wanted;
  return (
    (list === undefined || list.some((each) => each === field)) &&
    (gte === undefined || (typeof field === typeof gte && (field as typeof gte) >= gte)) &&
    (lt === undefined || (typeof field === typeof lt && (field as typeof lt) < lt))
  );
}

const isValue = (value: unknown): value is FilterScalar =>
  value === null || ["string", "number", "boolean"].includes(typeof value);

const isScalar = (wanted: FieldFilter): wanted is FilterScalar => isValue(wanted);
