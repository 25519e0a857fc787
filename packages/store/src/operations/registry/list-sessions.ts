import { isStorableText } from "@stemma/model";
import type {
  DueRequest,
  MetadataValue,
  SessionFilter,
  SessionInfo,
  SessionListRequest,
  SessionOrder,
} from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import {
  all,
  type Condition,
  column,
  count,
  type Operation,
  ofSession,
  registeredOrder,
} from "../../engine/operation.js";
import { assertLimit, assertTimes } from "../assert-storable.js";
import { orderedPage } from "../memory/ordered-page.js";
import { APPENDS_UNDATED, LATEST_CHANGE } from "./session-head.js";
import { behind, cursorOf, isBehind, type ListPosition, ordersOf, parseCursor } from "./session-order.js";
import { type ListedSession, readChange, sessionInfo, sessionsWhere } from "./sessions.js";

type Page = { sessions: SessionInfo[]; nextCursor: string | null };

/** With what the rows are read in the order of. */
type Listed = ListedSession & {
  readonly order_value?: number;
  readonly order_at?: string;
  readonly order_registered: number;
};

/** The most rows that are read at once. */
const MOST_ROWS = 2000;

/** The operation behind `SessionRegistry.list`. */
export function* listSessions(
  sql: Dialect,
  filters: readonly SessionFilter[],
  { limit, cursor, orderBy = "change" }: SessionListRequest,
): Operation<Page> {
  assertLimit(limit, "The limit of a list");
  const filter = sessionFilter(sql, ...filters);
  const after = cursor === undefined ? null : parseCursor(orderBy, cursor);
  const most = limit === undefined ? Number.POSITIVE_INFINITY : limit + 1;
  const found =
    orderBy === "change"
      ? yield* latest(sql, filter, after, most)
      : (yield* readRows(sql, filter, orderBy, after, most)).map((row) => ({ row, at: positionOf(row) }));
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return {
    sessions: page.map(({ row: { order_value: _value, order_at: _orderAt, order_registered: _registered, ...row } }) =>
      sessionInfo(row),
    ),
    nextCursor: found.length > page.length && last !== undefined ? cursorOf(orderBy, last.at) : null,
  };
}

type Found = { readonly row: Listed; readonly at: ListPosition };

// Rows are read in the order of a bound of their latest change, until those that are left cannot come before the last one.
function* latest(sql: Dialect, filter: Condition, after: ListPosition | null, most: number): Operation<Found[]> {
  let found: Found[] = [];
  let read = after === null ? null : startOf(after);
  for (let rows = most; ; rows = Math.min(2 * rows, MOST_ROWS)) {
    const batch = yield* readRows(sql, filter, "change", read, rows);
    for (const row of batch) {
      const at = { ...positionOf(row), value: row.updated_at };
      if (after === null || isBehind(at, after)) found.push({ row, at });
    }
    found = found.sort((one, other) => (isBehind(one.at, other.at) ? 1 : -1)).slice(0, most);
    const end = batch.at(-1);
    if (end === undefined || batch.length < rows) return found;
    read = positionOf(end);
    const last = found[most - 1];
    if (last !== undefined && !isBehind(last.at, read)) return found;
  }
}

// What was last dated some time ago may have a bound that is later by as much.
function startOf({ value }: ListPosition): ListPosition {
  const bound = new Date(new Date(value).getTime() + APPENDS_UNDATED * 1000);
  return { value: bound.toISOString(), registered: Number.MAX_SAFE_INTEGER, id: "" };
}

function readRows(
  sql: Dialect,
  filter: Condition,
  order: SessionOrder,
  after: ListPosition | null,
  rows: number,
): Operation<Listed[]> {
  const by = ordersOf(sql)[order];
  const further = after === null ? { condition: "1 = 1", values: [] } : behind(sql, order, after);
  const isAll = rows === Number.POSITIVE_INFINITY;
  // Columns of times have such names.
  const value = order === "change" ? "order_at" : "order_value";
  const registered = registeredOrder(sql);
  const inOrder = (...terms: readonly string[]) => terms.map((term) => `${term} DESC`).join(", ");
  const where = `${filter.condition} AND ${further.condition} ORDER BY ${inOrder(by, registered.by, ...registered.ties)}${isAll ? "" : " LIMIT ?"}`;
  const query = sessionsWhere(ofSession(sql, "m"), where, { [value]: by, order_registered: registered.by });
  const statement = `${query} ORDER BY ${inOrder(value, "order_registered", ...(registered.ties.length === 0 ? [] : ["id"]))}`;
  return all<Listed>(statement, ...filter.values, ...further.values, ...(isAll ? [] : [rows]));
}

function positionOf({ order_value, order_at, order_registered, id }: Listed): ListPosition {
  return { value: order_at ?? Number(order_value), registered: Number(order_registered), id };
}

/** A condition on sessions `s`, which pass each of the filters. */
export function sessionFilter(sql: Dialect, ...filters: readonly SessionFilter[]): Condition {
  const conditions = filters.flatMap(({ userId, idPrefix, nameContains, parentSessionId, metadata = {} }) => [
    ...(userId === undefined ? [] : [{ condition: "s.user_id = ?", values: [userId] }]),
    ...(idPrefix === undefined || idPrefix === "" ? [] : [hasPrefix(sql, idPrefix)]),
    ...(parentSessionId === undefined ? [] : [{ condition: "s.parent_session_id = ?", values: [parentSessionId] }]),
    ...(nameContains === undefined || nameContains === "" ? [] : [hasName(nameContains)]),
    ...Object.entries(metadata).map(([name, value]) => hasField(sql, name, value)),
  ]);
  if (conditions.length === 0) return { condition: "1 = 1", values: [] };
  return {
    condition: conditions.map(({ condition }) => condition).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

// Not LIKE: some engines take short patterns only.
const hasName = (text: string): Condition => ({
  condition: "replace(lower(s.name), lower(?), '') <> lower(s.name)",
  values: [text],
});

function hasPrefix(sql: Dialect, prefix: string): Condition {
  const { condition, values } = orderedPage(sql, "s.id", { prefix });
  return { condition, values };
}

function hasField(sql: Dialect, name: string, value: MetadataValue): Condition {
  // No metadata holds such a text, and some engines cannot be asked for it.
  if (!isStorableText(`${name} ${value}`)) return { condition: value === null ? "TRUE" : "FALSE", values: [] };
  const { condition, values } = sql.hasField("s.metadata", name, value);
  return { condition: `(s.metadata IS ${value === null ? "NULL OR" : "NOT NULL AND"} ${condition})`, values };
}

// The column `learned` is null unless all messages were looked at. What is written makes it so again; an index holds only such rows.

/** The operation behind `SessionRegistry.due`. */
export function* listDue(
  sql: Dialect,
  { sessionId, changedBefore, userId, ...page }: DueRequest & { readonly userId?: string | undefined },
): Operation<string[]> {
  assertTimes("The request's", { changedBefore });
  const { condition, values, order, limit } = orderedPage(sql, "id", page);
  const more = [
    ["id = ?", sessionId],
    [`${LATEST_CHANGE} < ?`, changedBefore],
    ["user_id = ?", userId],
  ].filter(([, value]) => value !== undefined);
  const where = ["learned IS NULL", condition, ...more.map(([each]) => each)].join(" AND ");
  const given = more.map(([, value]) => value as string);
  return yield* column<string>(`SELECT id FROM assistant_sessions WHERE ${where} ${order}`, ...values, ...given, limit);
}

/** The operation behind `SessionRegistry.markLearned`. */
export function* markLearned(sql: Dialect, id: string, change: string, userId: string | undefined): Operation<boolean> {
  if ((yield* readChange(sql, id)) !== change) return false;
  const [ofUser, users] = userId === undefined ? ["", []] : [" AND user_id = ?", [userId]];
  return (yield* count(`UPDATE assistant_sessions SET learned = 1 WHERE id = ?${ofUser}`, id, ...users)) > 0;
}
