import { cut } from "../../model/cut.js";
import { keyOf, type RowAddress } from "../../model/rank.js";
import { documentOf } from "../../model/text.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation } from "../engine/operation.js";
import { ownOf, rowsOf, type SessionRows, sameSession } from "../engine/session-rows.js";
import { type ContentRow, readContent } from "../operations/content.js";
import { ceilingOf, floorOf, sessionOf } from "../operations/row-id.js";
import { findTwin, type Twin, twinIn, WAITING_COLUMNS, type WaitingRow } from "./twins.js";

/** A message that waits for its vector. */
export interface Waiting {
  readonly sessionId: string;
  readonly n: number;
  /** What is embedded; "" for a message that has no text, or cannot be read. */
  readonly text: string;
  /** The row of the same message of the session that this one was forked from, where that has its vector. */
  readonly twin: Twin | null;
}

/** What tells a message that waits from all others, also when its row's number is given to another session. */
export const waitingKey = ({ n, sessionId }: Pick<Waiting, "n" | "sessionId">): number | string =>
  keyOf({ n, sessionId });

/** How much of a message's text is embedded, in characters: what models take whole. */
const MAX_CHARACTERS = 5_000;

/** The first messages of a session after those that were looked at, in order. */
export function* findNew(
  sql: Dialect,
  embedder: number,
  rows: SessionRows,
  seen: number,
  limit: number,
  lock = "",
): Operation<Waiting[]> {
  const fresh = yield* all<WaitingRow>(
    `SELECT ${WAITING_COLUMNS(sql, embedder)} FROM assistant_messages m
     WHERE ${ownOf(sql, "m")}m.n BETWEEN ? AND ? ORDER BY m.n LIMIT ?${lock}`,
    ...rows.ids,
    Math.max(seen + 1, floorOf(rows.sessionNumber)),
    ceilingOf(rows.sessionNumber),
    limit,
  );
  return yield* textsOf(sql, embedder, fresh);
}

/** Those of the messages whose row is old; all of one session where it is given. */
export function* findOld(
  sql: Dialect,
  embedder: number,
  addresses: readonly RowAddress[],
  lock = "",
  sessionId: string | null = null,
): Operation<Waiting[]> {
  if (addresses.length === 0) return [];
  const [own, ids] =
    sessionId === null
      ? [sql.namesSessions ? "v.session_id = given.owner AND " : "", []]
      : ["v.session_id = ? AND ", [sessionId]];
  const rows = yield* all<WaitingRow>(
    `SELECT ${WAITING_COLUMNS(sql, embedder)} FROM ${sql.segmentTable} AS given CROSS JOIN assistant_vectors v CROSS JOIN assistant_messages m
     WHERE ${own}v.n = given.lo AND v.embedder < ? AND ${sameSession(sql, "m", "v")}m.n = v.n${lock}`,
    JSON.stringify(addresses.map(({ n: rowId, sessionId: id = "" }) => [0, Number(rowId), Number(rowId), id])),
    ...ids,
    embedder,
  );
  return yield* textsOf(sql, embedder, rows);
}

/** Those of `embedded` whose row is old. Rows that are spread are locked on one server after the other. */
export function* findOldOf(
  sql: Dialect,
  embedder: number,
  embedded: readonly Waiting[],
  lock: string,
): Operation<Waiting[]> {
  if (!sql.isSpread) return yield* findOld(sql, embedder, embedded, lock);
  const old: Waiting[] = [];
  for (const id of new Set(embedded.map(({ sessionId }) => sessionId))) {
    const ofSession = embedded.filter(({ sessionId }) => sessionId === id);
    old.push(...(yield* findOld(sql, embedder, ofSession, lock, id)));
  }
  return old;
}

function* textsOf(sql: Dialect, embedder: number, rows: readonly WaitingRow[]): Operation<Waiting[]> {
  const found: Waiting[] = [];
  for (const row of rows) {
    const text = yield* textToEmbed(sql, row.session_id, row);
    const twin = sql.isSpread ? yield* findTwin(row, embedder) : twinIn(row);
    found.push({ sessionId: row.session_id, n: row.n, text, twin });
  }
  return found;
}

/** What is embedded of a message: "" of one that has no text, or cannot be read. */
export function* textToEmbed(sql: Dialect, sessionId: string, row: ContentRow): Operation<string> {
  const message = yield* readContent(rowsOf(sql, sessionId, sessionOf(row.n)), row, () => {});
  return message === null ? "" : cut(documentOf(message).toWellFormed(), 0, MAX_CHARACTERS);
}
