import type { SqlValue } from "../engine/operation.js";

/** False for text that no row can hold. */
export function isStorable(value: SqlValue): boolean {
  return typeof value !== "string" || (value.isWellFormed() && !value.includes("\0"));
}
