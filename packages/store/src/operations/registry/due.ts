import type { DueRequest } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { column, count, type Operation } from "../../engine/operation.js";
import { orderedPage } from "../memory/ordered-page.js";
import { LATEST_CHANGE } from "./session-head.js";
import { readChange } from "./sessions.js";

// The column `learned` is null unless all messages were looked at. What is written makes it so again; an index holds only such rows.

/** The operation behind `SessionRegistry.due`. */
export function* listDue(
  sql: Dialect,
  { changedBefore, userId, ...page }: DueRequest & { readonly userId?: string | undefined },
): Operation<string[]> {
  const { condition, values, order, limit } = orderedPage(sql, "id", page);
  const more = [
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
