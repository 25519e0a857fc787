import { addressOfKey, type RowAddress } from "../../model/rank.js";
import { documentOf } from "../../model/text.js";
import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, pause } from "../engine/operation.js";
import type { SearchIndex } from "../engine/search-dialect.js";
import { rowsOf } from "../engine/session-rows.js";
import { readContents } from "../operations/content.js";
import { entryDocument } from "../operations/entry-row.js";
import { sessionOf } from "../operations/row-id.js";
import { rowKey } from "../operations/search/found-rows.js";
import { unindexedRows } from "../operations/search/unindexed.js";
import type { CheckDialect, Document, IndexWindow } from "./dialect.js";
import { nextAfter, rowsInWindow } from "./index-window.js";
import { textOf } from "./scan.js";

/** A row of the index that does not hold what the document says. `text` is null where there is no such document. */
export interface Differing {
  readonly address: RowAddress;
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

const MESSAGE_COLUMNS = "m.n AS n, m.session_id AS session_id, m.id AS id, m.content AS content, NULL AS value";
const ENTRY_COLUMNS =
  "m.n AS n, m.session_id AS session_id, m.key AS id, m.key AS key, m.content AS content, m.value AS value";

/** The rows of an index that differ from their documents, and how many documents there are. */
export function* compareIndex(
  sql: Dialect,
  check: CheckDialect,
  index: SearchIndex,
  window: IndexWindow,
): Operation<{ differing: Differing[]; documents: number }> {
  yield* check.open();
  const indexed = yield* check.indexed(sql, index, window);
  const waiting = index === "messages" ? yield* unindexedRows(sql) : new Set();
  const differing: Differing[] = [];
  let documents = 0;
  const columns = index === "messages" ? MESSAGE_COLUMNS : ENTRY_COLUMNS;
  const keyOfRow = (row: IndexedRow) => (index === "messages" ? rowKey(sql, row) : row.n);
  for (let { after } = window; ; ) {
    const [query, ...values] = rowsInWindow(sql, index, columns, { ...window, after });
    const rows = yield* all<IndexedRow>(`${query} LIMIT ${PAGE}`, ...values);
    const texts = index === "messages" ? yield* textsOf(sql, rows) : rows.map((row) => entryDocument(row));
    const readable = rows.flatMap((row, at): Document[] => {
      const text = texts[at];
      return typeof text === "string" ? [{ ...addressOfKey(keyOfRow(row)), text }] : [];
    });
    const expected = yield* check.expected(sql, readable);
    documents += readable.length;
    for (const [at, row] of rows.entries()) {
      const text = texts[at] ?? null;
      const key = keyOfRow(row);
      // A message that became unreadable is found by what it said.
      const isOut = waiting.has(key) && !indexed.has(key);
      const isRight = text === null || isOut || indexed.get(key) === expected.get(key);
      if (!isRight) differing.push({ address: addressOfKey(key), text, sessionId: row.session_id, id: row.id });
      indexed.delete(key);
    }
    const last = rows.at(-1);
    if (last === undefined) break;
    after = nextAfter(sql, after, last);
    yield* pause();
  }
  for (const key of indexed.keys())
    differing.push({ address: addressOfKey(key), text: null, sessionId: null, id: null });
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
    const isSame = ({ n: other, session_id: otherId }: IndexedRow) =>
      sessionOf(other) === sessionNumber && otherId === session_id;
    while (end < rows.length && isSame(rows[end] as IndexedRow)) end += 1;
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
  for (const { address, text, sessionId } of differing) {
    const { n: rowId } = address;
    if (text === null || sessionId === null) yield* sql.search.remove(index, address.sessionId ?? null, rowId, rowId);
    else yield* sql.search.replace(index, [{ sessionId, rowId, document: text }]);
  }
}
