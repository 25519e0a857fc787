import type { EncodedMessage } from "../../../model/codec.js";
import type { Dialect } from "../../engine/dialect.js";
import { column, first, type Operation, OR_KEEP, oneNumber, run, runEach, tuples } from "../../engine/operation.js";
import type { CatchUp } from "../../engine/runner.js";
import type { IndexedDocument, SearchDialect } from "../../engine/search-dialect.js";
import { rowsOf } from "../../engine/session-rows.js";
import { sessionOf } from "../row-id.js";
import { addMessages, readDocument } from "./index-rows.js";

// A full-text index writes several pages for one message, and few more for many. So new messages are only noted, in the
// transaction that writes them. They are indexed together when there are enough of them, or before somebody searches.

/** Fewer messages of the store than this are not indexed. */
const ENOUGH = 128;
/** A message with more characters, or with media, is indexed by who writes it: nobody else is to read it for that. */
const LONG = 32_000;

/** True for a message that takes long to read again. See `IndexedDocument`. */
export const isLarge = ({ content, media }: EncodedMessage) => content.length > LONG || media.length > 0;

/** Indexes messages that were written, or notes them to be indexed later. */
export function* indexWritten(
  sql: Dialect,
  search: SearchDialect,
  written: readonly IndexedDocument[],
): Operation<void> {
  if (!search.indexesLater) return yield* addMessages(search, written);
  const noted = yield* oneNumber("SELECT count(*) AS count FROM assistant_unindexed");
  if (noted + written.length >= ENOUGH || written.some(({ isLarge }) => isLarge)) {
    if (noted > 0) yield* indexNoted(sql, search);
    return yield* addMessages(search, written);
  }
  const rows = written.flatMap(({ rowId, document }) => (document === "" ? [] : [[rowId]]));
  yield* runEach(`INSERT INTO assistant_unindexed (n) VALUES (?)${OR_KEEP}`, rows);
}

/** Indexes a message anew, or notes it, after a change. */
export function* indexChanged(sql: Dialect, search: SearchDialect, changed: IndexedDocument): Operation<void> {
  const { sessionId, rowId } = changed;
  const isNoted = "SELECT 1 FROM assistant_unindexed WHERE n = ?";
  if (search.mayLag && !changed.isLarge && (yield* first(isNoted, rowId)) !== undefined) return;
  yield* search.remove("messages", sessionId, rowId, rowId);
  if (changed.document !== "") yield* indexWritten(sql, search, [changed]);
}

/** What comes before a search; undefined where the index never lags. */
export function catchUp(sql: Dialect): CatchUp | undefined {
  const { search } = sql;
  if (search === null || !search.mayLag) return undefined;
  return { isNeeded: isAnyNoted, work: () => indexNoted(sql, search) };
}

/** The rows of messages that are not indexed yet. */
export function* unindexedRows({ search }: Dialect): Operation<ReadonlySet<unknown>> {
  return new Set(search?.mayLag ? yield* column("SELECT n FROM assistant_unindexed") : []);
}

function* isAnyNoted(): Operation<boolean> {
  return (yield* first("SELECT 1 FROM assistant_unindexed LIMIT 1")) !== undefined;
}

function* indexNoted(sql: Dialect, search: SearchDialect): Operation<void> {
  const rows = yield* tuples<readonly [n: number, content: string, sessionId: string]>(
    "SELECT m.n, m.content, m.session_id FROM assistant_unindexed u CROSS JOIN assistant_messages m ON m.n = u.n ORDER BY u.n",
  );
  yield* run("DELETE FROM assistant_unindexed");
  const documents: IndexedDocument[] = [];
  for (const [rowId, content, sessionId] of rows) {
    documents.push(yield* readDocument(rowsOf(sql, sessionId, sessionOf(rowId)), [rowId, content]));
  }
  yield* addMessages(search, documents);
}
