import { isMarked } from "../../model/codec.js";
import type { SessionMessage } from "../../model/message.js";
import { jsonBytes } from "../../model/recent-messages.js";
import { hideUnloaded } from "../../model/skill-view.js";
import { utf8Length } from "../../model/utf8.js";
import type { PathOptions } from "../engine/dialect.js";
import { type Operation, tuples } from "../engine/operation.js";
import { type DatedTuple, dated, readRows } from "./content.js";
import { assertOrder } from "./damage.js";
import type { View } from "./view.js";

const STILL_THERE =
  "AND EXISTS (SELECT 1 FROM assistant_sessions WHERE id = ? AND no = ? AND coalesce(registered, 0) = ?)";

/**
 * The rows of one page of a range, from one end of it. A page that is read `later` than the view was opened, in another
 * transaction, has none of a session that is gone since then, whoever has its number.
 */
export function* readViewPage(
  view: View,
  range: { branch: number; lo: number; hi: number },
  page: { newestFirst: boolean; limit: number; later: boolean },
  { onCorrupt, createdAt = false }: Pick<PathOptions, "onCorrupt" | "createdAt">,
): Operation<{ messages: SessionMessage[]; bytes: number[]; last: number | null; full: boolean }> {
  const [stillThere, session] = page.later
    ? [STILL_THERE, [view.rows.id, view.rows.sessionNumber, view.registered ?? 0]]
    : ["", []];
  const query = `SELECT n, content, created_at FROM assistant_messages WHERE ${view.rows.own}n BETWEEN ? AND ? AND branch = ? ${stillThere}
     ORDER BY n ${page.newestFirst ? "DESC" : "ASC"} LIMIT ?`;
  const { branch, lo, hi } = range;
  const rows = yield* tuples<DatedTuple>(query, ...view.rows.ids, lo, hi, branch, ...session, page.limit);
  const last = rows.at(-1)?.[0] ?? null;
  assertOrder(last === null || (last >= lo && last <= hi));
  const messages: SessionMessage[] = [];
  const bytes: number[] = [];
  const read = yield* readRows(
    view.rows,
    rows.map(([n, content]) => [n, content]),
    onCorrupt,
  );
  for (const [index, [rowId, content, storedAt]] of rows.entries()) {
    const stored = read[index] ?? null;
    if (stored === null) continue;
    const message = hideUnloaded(stored, rowId, view.skills);
    messages.push(createdAt ? dated(message, storedAt) : message);
    bytes.push(message === stored ? storedBytes(stored, content) : jsonBytes(message));
  }
  return { messages, bytes, last, full: rows.length === page.limit };
}

/** How many bytes a message has as JSON; `content` is how it is stored. */
export const storedBytes = (message: SessionMessage, content: string): number =>
  isMarked(content) ? jsonBytes(message) : utf8Length(content);
