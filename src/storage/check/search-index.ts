import { documentOf } from "../../model/text.js";
import type { Dialect, SearchIndex } from "../engine/dialect.js";
import { all, type Operation, pause } from "../engine/operation.js";
import { rowsOf } from "../engine/session-rows.js";
import { readContents } from "../operations/content.js";
import { assertOrder, rowAfter } from "../operations/damage.js";
import { entryDocument } from "../operations/entries.js";
import { sessionOf } from "../operations/row-id.js";
import { endOfWindow, messagesBetween } from "../operations/search/index-rows.js";
import type { CheckDialect, Document } from "./dialect.js";
import { textOf } from "./scan.js";

/** A row of the index that does not hold what the document says. `text` is null where there is no such document. */
export interface Differing {
  readonly n: number;
  readonly text: string | null;
  readonly sessionId: string | null;
  /** The message's id, or the entry's key. */
  readonly id: string | null;
}

interface IndexedRow {
  readonly n: number;
  readonly session_id: string;
  readonly id: string;
  readonly key: string;
  readonly content: string;
  /** Of an entry. */
  readonly value: string | null;
}

const PAGE = 100;
/** How many documents are compared with one look at the whole index. */
const WINDOW = 200_000;
/** Of how many sessions, where their rows are found by them. */
const SESSIONS = 500;

/** The end of the next window after the row `lo`; the last one has no end. */
export function* windowEnd(sql: Dialect, index: SearchIndex, lo: number): Operation<number> {
  if (index === "messages" && sql.namesSessions) return yield* endOfWindow(sql, lo - 1, SESSIONS);
  const query = `SELECT n FROM ${TABLES[index]} WHERE n >= ? ORDER BY n LIMIT 1 OFFSET ${WINDOW - 1}`;
  const end = Number((yield* all<{ n: number }>(query, lo))[0]?.n ?? Number.MAX_SAFE_INTEGER);
  assertOrder(end >= lo);
  return end;
}

const MESSAGE_COLUMNS = "m.n AS n, m.session_id AS session_id, m.id AS id, m.content AS content, NULL AS value";
const ENTRY_COLUMNS = "n, session_id, key AS id, key, content, value";

const TABLES = { messages: "assistant_messages", entries: "cf_agents_search_entries" } as const;

/** The rows from `lo` to `hi` of an index that differ from their documents, and how many documents there are. */
export function* compareIndex(
  sql: Dialect,
  check: CheckDialect,
  index: SearchIndex,
  lo: number,
  hi: number,
): Operation<{ differing: Differing[]; documents: number }> {
  yield* check.open();
  const indexed = yield* check.indexed(sql, index, lo, hi);
  const differing: Differing[] = [];
  let documents = 0;
  for (let from = lo; ; ) {
    const [query, ...values] =
      index === "messages"
        ? messagesBetween(sql, MESSAGE_COLUMNS, from - 1, hi)
        : [`SELECT ${ENTRY_COLUMNS} FROM cf_agents_search_entries WHERE n > ? AND n <= ? ORDER BY n`, from - 1, hi];
    const rows = yield* all<IndexedRow>(`${query} LIMIT ${PAGE}`, ...values);
    const texts = index === "messages" ? yield* textsOf(sql, rows) : rows.map((row) => entryDocument(row));
    const readable = rows.flatMap(({ n: rowId }, place): Document[] => {
      const text = texts[place];
      return typeof text === "string" ? [{ n: rowId, text }] : [];
    });
    const expected = yield* check.expected(sql, readable);
    documents += readable.length;
    for (const [place, { n: rowId, session_id, id }] of rows.entries()) {
      const text = texts[place] ?? null;
      // A message that became unreadable is found by what it said.
      const isRight = text === null || indexed.get(rowId) === expected.get(rowId);
      if (!isRight) differing.push({ n: rowId, text, sessionId: session_id, id });
      indexed.delete(rowId);
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    from = rowAfter(last.n, from);
    yield* pause();
  }
  for (const rowId of indexed.keys()) differing.push({ n: rowId, text: null, sessionId: null, id: null });
  yield* check.close();
  return { differing, documents };
}

// Null for a message that cannot be read.
function* textsOf(sql: Dialect, rows: readonly IndexedRow[]): Operation<(string | null)[]> {
  const texts: (string | null)[] = [];
  for (let start = 0; start < rows.length; ) {
    const { n: rowId, session_id } = rows[start] as IndexedRow;
    const sessionNumber = sessionOf(rowId);
    let end = start;
    while (end < rows.length && sessionOf((rows[end] as IndexedRow).n) === sessionNumber) end += 1;
    const contents = rows.slice(start, end).map(({ content }) => textOf(content));
    for (const message of yield* readContents(rowsOf(sql, session_id, sessionNumber), contents, null, () => {})) {
      texts.push(message === null ? null : attempt(() => documentOf(message)));
    }
    start = end;
  }
  return texts;
}

function attempt(read: () => string): string | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** Indexes anew what differs. */
export function* repairIndex(sql: Dialect, index: SearchIndex, differing: readonly Differing[]): Operation<void> {
  if (sql.search === null) return;
  for (const { n: rowId, text, sessionId } of differing) {
    if (text === null || sessionId === null) yield* sql.search.remove(index, null, rowId, rowId);
    else yield* sql.search.replace(index, [{ sessionId, n: rowId, document: text }]);
  }
}
