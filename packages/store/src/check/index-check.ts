// One comparison: the search index with what it is of, window by window, and how it is made anew.
import { addressOfKey, documentOf, keyOf, type RowAddress, StemmaError } from "@stemma/model";
import type { Dialect, SearchIndex } from "../engine/dialect.js";
import { INDEX_TABLES } from "../engine/dialect.js";
import { all, type Operation, pause, rowsOf, type SessionRows, type SqlValue } from "../engine/operation.js";
import { entryDocument } from "../operations/memory/entry-rows.js";
import { readContents } from "../operations/messages/content.js";
import { assertOrder } from "../operations/messages/damage.js";
import { ceilingOf, findSessionRows, floorOf, sessionOf } from "../operations/registry/session-head.js";
import { messagesBetween, type ReadTo, unindexedRows } from "../operations/search/index-rows.js";
import { markAllUnindexed, reindexSome } from "../operations/search/reindex.js";
import { rowKey } from "../operations/search/search-hits.js";
import type { IndexWindow } from "./check-dialect.js";
import { addSum, type CheckDialect, type Document, type IndexSums } from "./check-dialect.js";
import type { CheckRun } from "./check-run.js";
import { Findings } from "./findings.js";
import { textOf } from "./scan.js";

/** Compares the search indexes with what they are of: all of them, or a session's messages. */
export async function checkIndex(run: CheckRun): Promise<void> {
  const { runner, sql } = run.open;
  const { sessionId } = run.options;
  if (sessionId !== undefined) {
    const rows = await runner.read(() => findSessionRows(sql, sessionId));
    if (rows !== null) await checkWindow(run, "messages", windowOfSession(rows));
    return;
  }
  for (const index of ["messages", "entries"] as const) {
    for (const window of await suspectsOf(run, index, await windowsOf(run, index)))
      await checkWindow(run, index, window);
  }
}

async function windowsOf({ open, dialect }: CheckRun, index: SearchIndex): Promise<IndexWindow[]> {
  const windows: IndexWindow[] = [];
  for (let after: IndexWindow["to"] = beginning; after !== null; ) {
    const from: IndexWindow["after"] = after;
    const end = () => windowEnd(open.sql, index, from, dialect.window[index]);
    after = await open.runner.read(end).catch(() => null);
    windows.push({ after: from, to: after });
  }
  return windows;
}

// One look at the whole index tells of most windows that they are right.
async function suspectsOf(run: CheckRun, index: SearchIndex, windows: IndexWindow[]): Promise<readonly IndexWindow[]> {
  const { dialect, open } = run;
  const { sums } = dialect;
  if (sums === undefined || windows.length === 1) return windows;
  const glanced = await run.glance(() => findSuspects(open.sql, { ...dialect, sums }, index, windows));
  if (glanced === null) return windows;
  const found = new Findings();
  found.count(INDEX_TABLES[index], glanced.documents);
  run.report(found, null);
  return glanced.suspects;
}

async function checkWindow(run: CheckRun, index: SearchIndex, window: IndexWindow): Promise<void> {
  const { runner, sql } = run.open;
  let counted = 0;
  const look = async (): Promise<Differing[] | Error> => {
    const compare = () => compareIndex(sql, run.dialect, index, window, run.mayRepair);
    try {
      const glanced = await run.glances(compare, keysOf);
      const whole = () => (run.dialect.indexCheckWrites ? runner.write(compare) : runner.read(compare));
      const { differing, documents } = glanced === null ? await whole() : { ...glanced, differing: [] };
      counted = documents;
      return differing;
    } catch (error) {
      if (StemmaError.isInstance(error, "STORE_CLOSED")) throw error;
      return error instanceof Error ? error : new TypeError(String(error));
    }
  };
  const before = await look();
  let after = before;
  if (run.mayRepair && (before instanceof Error || before.length > 0)) {
    if (before instanceof Error) await rebuildIndex(run).catch(() => {});
    else await repairRows(run, index, before).catch(() => {});
    after = await look();
    // Rows that stay wrong lie in a damaged index.
    if (!(before instanceof Error) && (after instanceof Error || after.length > 0)) {
      await rebuildIndex(run).catch(() => {});
      after = await look();
    }
  }
  const found = findingsOf(index, after);
  found.count(INDEX_TABLES[index], counted);
  run.report(findingsOf(index, before), found);
}

const keysOf = ({ differing }: { differing: Differing[] }) =>
  differing.map(({ address: { n, sessionId } }) => JSON.stringify([n, sessionId]));

async function repairRows(run: CheckRun, index: SearchIndex, differing: readonly Differing[]): Promise<void> {
  const bySession = new Map<string, Differing[]>();
  for (const row of differing) {
    const key = row.sessionId ?? "";
    bySession.set(key, [...(bySession.get(key) ?? []), row]);
  }
  for (const [id, rows] of bySession) await run.write(id, () => repairIndex(run.open.sql, index, rows));
}

/** Makes the search indexes anew. */
export function rebuildIndex(run: CheckRun): Promise<void> {
  const { sql } = run.open;
  const { search } = sql;
  return run.write("", function* () {
    yield* run.dialect.emptyIndex(sql);
    yield* markAllUnindexed(sql);
    // All of it in one transaction: a mark that stays would make the next program that opens the store go on with it.
    while (search !== null && !(yield* reindexSome(sql, search)));
  });
}

function findingsOf(index: SearchIndex, seen: Differing[] | Error): Findings {
  const found = new Findings();
  const table = INDEX_TABLES[index];
  if (seen instanceof Error) {
    found.add("index", table, null, null, `The search index could not be read: ${seen.message}`);
    return found;
  }
  for (const { address, text, sessionId, id, isOther } of seen) {
    if (isOther) continue;
    const message =
      text === null ? `It holds row ${address.n}, which is not there.` : "It does not hold what the text says.";
    found.add("index", table, sessionId, id, message);
  }
  return found;
}

/** A row of the index that does not hold what the document says. `text` is null where there is no such document. */
interface Differing {
  readonly address: RowAddress;
  readonly text: string | null;
  readonly sessionId: string | null;
  /** The message's id, or the entry's key. */
  readonly id: string | null;
  /** It is no damage: a store with other settings indexed it without its tool calls. */
  readonly isOther?: boolean;
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

/**
 * The rows of an index that differ from their documents, and how many documents there are. What a store with other settings indexed is
 * right; only where it is `wanted` a row that lacks the tool calls is among them.
 */
function* compareIndex(
  sql: Dialect,
  check: CheckDialect,
  index: SearchIndex,
  window: IndexWindow,
  wanted: boolean,
): Operation<{ differing: Differing[]; documents: number }> {
  yield* check.open();
  const indexed = yield* check.indexed(sql, index, window);
  const waiting = index === "messages" ? yield* unindexedRows(sql) : new Set();
  const differing: Differing[] = [];
  const documents = yield* readDocuments(sql, index, window, function* (rows, readable) {
    const expected = yield* check.expected(sql, readable);
    const isWrong = ({ key }: IndexedDocument) => indexed.get(key) !== expected.get(key);
    const others = rows
      .filter(isWrong)
      .flatMap(({ key, other }) => (other ? [{ ...addressOfKey(key), text: other }] : []));
    const otherwise = yield* check.expected(sql, others);
    for (const document of rows) {
      const { key, text, other, row } = document;
      // A message that became unreadable is found by what it said.
      const isOut = waiting.has(key) && !indexed.has(key);
      const isOther = other !== null && indexed.get(key) === otherwise.get(key);
      if (text !== null && !isOut && isWrong(document) && !(isOther && !(wanted && sql.search?.tools))) {
        differing.push({ address: addressOfKey(key), text, sessionId: row.session_id, id: row.id, isOther });
      }
      indexed.delete(key);
    }
  });
  for (const key of indexed.keys())
    differing.push({ address: addressOfKey(key), text: null, sessionId: null, id: null });
  yield* check.close();
  return { differing, documents };
}

/** The windows in which an index is perhaps not what its documents say, and how many documents the others have. */
function* findSuspects(
  sql: Dialect,
  check: CheckDialect & { readonly sums: IndexSums },
  index: SearchIndex,
  windows: readonly IndexWindow[],
): Operation<{ suspects: IndexWindow[]; documents: number }> {
  yield* check.open();
  const ends = windows.flatMap(({ to }) => (to === null ? [] : [to.rowId]));
  const indexed = yield* check.sums.indexed(index, ends);
  const waiting = index === "messages" ? yield* unindexedRows(sql) : new Set();
  const suspects: IndexWindow[] = [];
  let documents = 0;
  for (const [at, window] of windows.entries()) {
    let sum = 0;
    const read = yield* readDocuments(sql, index, window, function* (_rows, readable) {
      const present = readable.filter((document) => !waiting.has(keyOf(document)));
      sum = addSum(sum, yield* check.sums.expected(sql, present));
    });
    if (sum === indexed[at]) documents += read;
    else suspects.push(window);
  }
  yield* check.close();
  return { suspects, documents };
}

interface IndexedDocument {
  readonly row: IndexedRow;
  readonly key: number | string;
  /** Null where it cannot be read. */
  readonly text: string | null;
  /** The text of a message that a store with other settings indexes; null where it is the same, or of an entry. */
  readonly other: string | null;
}

/** Reads a window of documents page by page; `readable` has those whose text is there. Gives how many these are. */
function* readDocuments(
  sql: Dialect,
  index: SearchIndex,
  window: IndexWindow,
  look: (rows: IndexedDocument[], readable: Document[]) => Operation<void>,
): Operation<number> {
  let documents = 0;
  const columns = index === "messages" ? MESSAGE_COLUMNS : ENTRY_COLUMNS;
  for (let { after } = window; ; ) {
    const [query, ...values] = rowsInWindow(sql, index, columns, { ...window, after });
    const rows = yield* all<IndexedRow>(`${query} LIMIT ${PAGE}`, ...values);
    const texts = index === "messages" ? yield* textsOf(sql, rows) : rows.map((row) => [entryDocument(row)]);
    const found = rows.map((row, at): IndexedDocument => {
      const key = index === "messages" ? rowKey(sql, row) : row.n;
      const [text = null, other = text] = texts[at] ?? [];
      return { row, key, text, other: other === text ? null : other };
    });
    const readable = found.flatMap(({ key, text }) => (text === null ? [] : [{ ...addressOfKey(key), text }]));
    documents += readable.length;
    yield* look(found, readable);
    const last = rows.at(-1);
    if (last === undefined) return documents;
    after = nextAfter(sql, after, last);
    yield* pause();
  }
}

// Of each message as this store indexes it, and as others do; none of one that cannot be read.
function* textsOf(sql: Dialect, rows: readonly IndexedRow[]): Operation<string[][]> {
  const tools = sql.search?.tools === true;
  const texts: string[][] = [];
  for (let start = 0; start < rows.length; ) {
    const { n: rowId, session_id } = rows[start] as IndexedRow;
    const sessionNumber = sessionOf(rowId);
    let end = start;
    const isSame = ({ n: other, session_id: otherId }: IndexedRow) =>
      sessionOf(other) === sessionNumber && otherId === session_id;
    while (end < rows.length && isSame(rows[end] as IndexedRow)) end += 1;
    const contents = rows.slice(start, end).map(({ content }) => textOf(content));
    for (const message of yield* readContents(rowsOf(sql, session_id, sessionNumber), contents, null, () => {})) {
      texts.push(message === null ? [] : attempt(() => [documentOf(message, tools), documentOf(message, !tools)]));
    }
    start = end;
  }
  return texts;
}

function attempt(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function* repairIndex(sql: Dialect, index: SearchIndex, differing: readonly Differing[]): Operation<void> {
  if (sql.search === null) return;
  for (const { address, text, sessionId } of differing) {
    const { n: rowId } = address;
    if (text === null || sessionId === null) yield* sql.search.remove(index, address.sessionId ?? null, rowId, rowId);
    else yield* sql.search.replace(index, [{ sessionId, rowId, document: text }]);
  }
}

/** The first window is behind this row. */
export const beginning: ReadTo = { rowId: Number.MIN_SAFE_INTEGER, sessionId: "" };

function windowOfSession({ id, sessionNumber, layout }: SessionRows): IndexWindow {
  const [lo, hi] =
    layout !== "local"
      ? [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER]
      : [floorOf(sessionNumber) - 1, ceilingOf(sessionNumber)];
  return { after: { rowId: lo, sessionId: id }, to: { rowId: hi, sessionId: id } };
}

/** Rows of an index that are in a window, in its order. */
function rowsInWindow(
  sql: Dialect,
  index: SearchIndex,
  columns: string,
  { after, to }: IndexWindow,
): [sql: string, ...values: SqlValue[]] {
  if (index === "messages") return messagesBetween(sql, columns, after, to);
  const hi = to?.rowId ?? Number.MAX_SAFE_INTEGER;
  return [`SELECT ${columns} FROM cf_agents_search_entries m WHERE m.n > ? AND m.n <= ? ORDER BY m.n`, after.rowId, hi];
}

/** The end of the next window behind a row, of so many documents; null of the last one, which has none. */
function* windowEnd(sql: Dialect, index: SearchIndex, after: ReadTo, size: number): Operation<ReadTo | null> {
  const [query, ...values] = rowsInWindow(sql, index, "m.n AS n, m.session_id AS session_id", { after, to: null });
  const [end] = yield* all<{ n: number; session_id: string }>(`${query} LIMIT 1 OFFSET ${size - 1}`, ...values);
  return end === undefined ? null : nextAfter(sql, after, end);
}

/** Behind which row the next page begins. */
function nextAfter({ layout }: Dialect, after: ReadTo, row: { n: number; session_id: string }): ReadTo {
  const next = { rowId: Number(row.n), sessionId: layout !== "local" ? row.session_id : after.sessionId };
  assertOrder(next.rowId > after.rowId || next.sessionId !== after.sessionId);
  return next;
}
