import type { MetadataValue, SessionFilter } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import type { Condition } from "../engine/operation.js";
import { orderedPage } from "./ordered-page.js";

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
  const { condition, values } = sql.hasField("s.metadata", name, value);
  return { condition: `(s.metadata IS ${value === null ? "NULL OR" : "NOT NULL AND"} ${condition})`, values };
}
