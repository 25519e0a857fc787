import { invalid } from "@stemma/model";
import type { SessionOrder } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { type Condition, ofSession, registeredOrder } from "../../engine/operation.js";
import { LATEST_CHANGE, SESSION_RANGE, SPAN } from "./session-head.js";

/** By what each order of the sessions `s` is, as an index has it where there is one; of `change` a bound. */
export const ordersOf = (sql: Dialect): Readonly<Record<SessionOrder, string>> => ({
  change: LATEST_CHANGE,
  tokens: "(input_tokens + output_tokens)",
  cost: "estimated_cost",
  registered: registeredOrder(sql).by,
  // The number that the newest message has in its session.
  messages: `COALESCE((SELECT m.n FROM assistant_messages m WHERE ${ofSession(sql, "m")}m.n BETWEEN ${SESSION_RANGE("s.no")} ORDER BY m.n DESC LIMIT 1) - s.no * ${SPAN}, 0)`,
});

/** Where a session stands in a list, highest first; of equals the one that was registered later comes first. */
export interface ListPosition {
  readonly value: string | number;
  /** The number that `registeredOrder` gives. */
  readonly registered: number;
  readonly id: string;
}

/** True for a position that comes after another one. */
export function isBehind(position: ListPosition, other: ListPosition): boolean {
  for (const by of ["value", "registered", "id"] as const) {
    if (position[by] !== other[by]) return position[by] < other[by];
  }
  return false;
}

/** A condition on sessions that come after a position. */
export function behind(sql: Dialect, order: SessionOrder, { value, registered, id }: ListPosition): Condition {
  const by = ordersOf(sql)[order];
  const { condition, values } = registeredBefore(sql, registered, id);
  return { condition: `${by} <= ? AND (${by} < ? OR ${condition})`, values: [value, value, ...values] };
}

/** A condition on sessions that were registered before another one. */
export function registeredBefore(sql: Dialect, registered: number, id: string): Condition {
  const { by, ties } = registeredOrder(sql);
  if (ties.length === 0) return { condition: `${by} < ?`, values: [registered] };
  return { condition: `(${by}, ${ties}) < (?, ?)`, values: [registered, id] };
}

export function cursorOf(order: SessionOrder, { value, registered, id }: ListPosition): string {
  return `${order}~${value}~${registered}~${id}`;
}

/** Errors: `INVALID_ARGUMENT` for a text that is no cursor of this order. */
export function parseCursor(order: SessionOrder, cursor: string): ListPosition {
  const [name, value = "", registered = "", ...id] = cursor.split("~");
  const isValue = order === "change" ? /^\d{4}-.*Z$/.test(value) : value !== "" && Number.isFinite(Number(value));
  if (name === order && isValue && /^\d+$/.test(registered) && id.length > 0) {
    return { value: order === "change" ? value : Number(value), registered: Number(registered), id: id.join("~") };
  }
  throw invalid("A cursor is the nextCursor of an earlier page of the same order, as it was given.", { cursor });
}
