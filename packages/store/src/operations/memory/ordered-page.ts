import type { ListRecordsOptions } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Condition } from "../../engine/operation.js";
import { assertCount } from "../assert-storable.js";

const DEFAULT_LIMIT = 100;

/** A page of rows in the order of the bytes of a text column; the value of its order is the limit. */
export function orderedPage(
  sql: Dialect,
  column: string,
  { prefix = "", after, limit = DEFAULT_LIMIT, descending = false }: ListRecordsOptions,
): Condition & { readonly order: string; readonly limit: number } {
  assertCount(limit, "The limit of a list");
  const ordered = sql.bytes.ordered(column);
  const bounds = [
    [">=", prefix],
    [descending ? "<" : ">", after],
    ["<", prefixEnd(prefix)],
  ] as const;
  const given = bounds.filter(([, value]) => value !== undefined);
  return {
    condition: given.map(([is]) => `${ordered} ${is} ?`).join(" AND "),
    order: `ORDER BY ${ordered}${descending ? " DESC" : ""} LIMIT ?`,
    values: given.map(([, value]) => value as string),
    limit,
  };
}

// The first key behind all that begin with the prefix; undefined where none is.
function prefixEnd(prefix: string): string | undefined {
  const letters = Array.from(prefix);
  for (let last = letters.pop(); last !== undefined; last = letters.pop()) {
    const code = last.codePointAt(0) as number;
    if (code === 0x10ffff) continue;
    // Half a surrogate pair is no character.
    return letters.join("") + String.fromCodePoint(code === 0xd7ff ? 0xe000 : code + 1);
  }
  return undefined;
}
