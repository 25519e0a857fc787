import type { SearchQuery } from "../../../model/query.js";
import { keyOf, type Ranked } from "../../../model/rank.js";
import { explainResult } from "../../../model/search-explanation.js";
import { markedSnippet } from "../../../model/snippet.js";
import { searchDocument } from "../../../model/text.js";
import type { FoundMessage, SearchHit, SearchRequest } from "../../contract.js";
import type { Dialect } from "../../engine/dialect.js";
import type { Operation } from "../../engine/operation.js";
import type { FoundRow } from "../../engine/search-dialect.js";
import type { Segment } from "../path.js";
import { compactionsOver, covering } from "./covering.js";
import { findRows, rowKey } from "./found-rows.js";
import { contextOf, pathsThrough } from "./hit-context.js";
import { HIT_COLUMNS, type HitRow, readFound } from "./hit-row.js";

const COLUMNS_OF_M = HIT_COLUMNS.replace(/\w+/g, "m.$& AS $&");

/** The rows of what was found: see `SearchDialect.hits`. */
export function* findHits(
  sql: Dialect,
  ranked: readonly Ranked[],
  sessionId: string | undefined,
  since?: number | null,
): Operation<readonly FoundRow[]> {
  const read = sql.search?.hits;
  const found = read === undefined ? null : yield* read(ranked, since);
  if (found !== null) return found;
  const rows = yield* findRows<FoundRow>(sql, ranked, `${COLUMNS_OF_M}, ${covering(sql)}`, sessionId);
  return [...rows.values()];
}

/** Shows what was found, in these rows, with what stands around it; `path` is the one that the search was narrowed to. */
export function* readHits(
  sql: Dialect,
  query: SearchQuery,
  ranked: readonly Ranked[],
  found: readonly FoundRow[],
  request: SearchRequest,
  path: readonly Segment[] | null,
): Operation<SearchHit[]> {
  const rows = new Map(found.map((row) => [rowKey(sql, row), row]));
  const covered = [...rows.values()].filter((row) => row.covering > 0);
  const compactions = yield* compactionsOver(sql, covered, request.sessionId);
  const paths = pathsThrough(sql, path);
  const hits: SearchHit[] = [];
  for (const each of ranked) {
    const { score, reasons } = each;
    const row = rows.get(keyOf(each));
    if (row === undefined) continue;
    const message = yield* readFound(sql, row);
    // Not spread: V8 takes a microsecond for what stands behind a spread.
    const hit: SearchHit = Object.assign(message, {
      sessionId: row.session_id,
      score,
      snippet: markedSnippet(message.content, query),
      coveredBy: row.covering > 0 ? (compactions.get(row) ?? []) : coveredBy(row),
    });
    if (request.context) hit.context = yield* contextOf(sql, yield* paths(row), row, request.context);
    if (reasons !== undefined) hit.explanation = explainResult(query, documentOf(message, row), reasons);
    hits.push(hit);
  }
  return hits;
}

const coveredBy = ({ covered_by }: FoundRow): string[] => (covered_by == null ? [] : JSON.parse(covered_by));

function documentOf({ name = "", content: text }: FoundMessage, { dated_at: createdAt }: HitRow): string {
  return searchDocument({ text, name, createdAt });
}
