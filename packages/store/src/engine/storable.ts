import { StemmaError } from "@stemma/model";
import type { SqlValue, Statement } from "./operation.js";

/** True for half of a surrogate pair, in place of which an engine would store U+FFFD: another text, perhaps another row's key. */
export const isIllFormed = (value: SqlValue): boolean => typeof value === "string" && !value.isWellFormed();

/**
 * A statement without the values that the engine cannot keep. No row holds such a text, so a query for it finds what a query for
 * NULL does: nothing. Errors: `INVALID_TEXT` for one that writes.
 */
export function withoutUnstorable(statement: Statement, isUnstorable: (value: SqlValue) => boolean): Statement {
  const { sql, values, rows } = statement;
  if (!values.some(isUnstorable) && rows?.some((row) => row.some(isUnstorable)) !== true) return statement;
  if (/^\s*(?:SELECT|WITH)\b/i.test(sql)) {
    return { ...statement, values: values.map((value) => (isUnstorable(value) ? null : value)) };
  }
  const message = "A text holds NUL or half a surrogate pair, which the database cannot keep; remove it.";
  throw new StemmaError("INVALID_TEXT", {}, message);
}
