import { StemmaError } from "../../errors.js";
import type { SessionOrder } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import type { SqlValue } from "../engine/operation.js";
import { ofSession } from "../engine/session-rows.js";
import { SESSION_RANGE, SPAN } from "./row-id.js";

/**
 * How long after an append further ones leave the session's row alone, in seconds. Until then the row says no more than that
 * the session changed before `appended_until`, and its newest message tells when.
 */
export const APPENDS_UNDATED = 1;

/** SQL for a time that is not before the latest change of a session. It is that time where `appended_until` is not later than `updated_at`. */
export const LATEST_CHANGE = "CASE WHEN appended_until > updated_at THEN appended_until ELSE updated_at END";

/** By what each order of the sessions `s` is, as an index has it where there is one; of `change` a bound. */
export const ordersOf = (sql: Dialect): Readonly<Record<SessionOrder, string>> => ({
  change: LATEST_CHANGE,
  tokens: "(input_tokens + output_tokens)",
  cost: "estimated_cost",
  registered: "s.no",
  // The number that the newest message has in its session.
  messages: `COALESCE((SELECT m.n FROM assistant_messages m WHERE ${ofSession(sql, "m")}m.n BETWEEN ${SESSION_RANGE("s.no")} ORDER BY m.n DESC LIMIT 1) - s.no * ${SPAN}, 0)`,
});

/** A session's place in an order, highest first. */
export interface OrderPlace {
  readonly value: string | number;
  readonly no: number;
}

/** True for a place that comes after another one. */
export function isBehind(place: OrderPlace, other: OrderPlace): boolean {
  return place.value === other.value ? place.no < other.no : place.value < other.value;
}

/** A condition on sessions that come after a place. */
export function behind(
  sql: Dialect,
  order: SessionOrder,
  { value, no }: OrderPlace,
): { condition: string; values: SqlValue[] } {
  const by = ordersOf(sql)[order];
  return { condition: `${by} <= ? AND (${by} < ? OR no < ?)`, values: [value, value, no] };
}

export function cursorOf(order: SessionOrder, { value, no }: OrderPlace): string {
  return `${order}~${value}~${no}`;
}

/** Errors: `INVALID_ARGUMENT` for a text that is no cursor of this order. */
export function parseCursor(order: SessionOrder, cursor: string): OrderPlace {
  const [name, value = "", sessionNumber = ""] = cursor.split("~");
  const isValue = order === "change" ? /^\d{4}-.*Z$/.test(value) : value !== "" && Number.isFinite(Number(value));
  if (name === order && isValue && /^\d+$/.test(sessionNumber)) {
    return { value: order === "change" ? value : Number(value), no: Number(sessionNumber) };
  }
  throw new StemmaError(
    "INVALID_ARGUMENT",
    { cursor },
    "A cursor is the nextCursor of an earlier page of the same order, as it was given.",
  );
}
