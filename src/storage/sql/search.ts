import { StemmaError } from "../../errors.js";
import { quotedFrom, type SearchQuery } from "../../model/query.js";
import { type Ranked, rankMatches } from "../../model/rank.js";
import { searchableText } from "../../model/text.js";
import type { SearchHit } from "../contract.js";
import { type ContentRow, readContent } from "./content.js";
import type { Dialect, SearchDialect } from "./dialect.js";
import { all, column, type Operation } from "./operation.js";
import { ceilingOf, floorOf, sessionOf } from "./position.js";
import { findTip } from "./session-row.js";

/** Of a word that very many messages hold, only the best matches are ranked. */
const MAX_MATCHES = 2_000;

/** The engine's search. Errors: `SEARCH_UNAVAILABLE`. */
export function searchOf(sql: Dialect): SearchDialect {
  if (sql.search !== null) return sql.search;
  throw new StemmaError("SEARCH_UNAVAILABLE", { store: sql.name }, "This store was opened without search.");
}

/** See `HistoryStore.search`. */
export function* searchMessages(
  sql: Dialect,
  query: SearchQuery,
  sessionId: string | undefined,
  limit: number,
): Operation<SearchHit[]> {
  const search = searchOf(sql);
  const tip = sessionId === undefined ? null : yield* findTip(sessionId);
  if (sessionId !== undefined && tip === null) return [];
  const range = tip === null ? null : ([floorOf(tip.no), ceilingOf(tip.no)] as const);
  const matches = yield* search.matches(query, range, MAX_MATCHES);
  const branches = yield* branchesOf(new Set(matches.flatMap((term) => [...term.keys()])));
  const ranked = rankMatches(matches, { sessionOf, branchOf: (n) => branches.get(n) }, quotedFrom(query));
  return yield* readHits(ranked.slice(0, limit));
}

// The branches of messages of sessions that have several. A branch that goes on is found by where it began.
function* branchesOf(messages: ReadonlySet<number>): Operation<ReadonlyMap<number, number>> {
  const branches = new Map<number, number>();
  const sessions = [...new Set([...messages].map(sessionOf))];
  const forked = new Set<number>();
  for (const chunk of chunks(sessions)) {
    const found = yield* column<number>(
      `SELECT DISTINCT no FROM assistant_branches WHERE no IN (${marks(chunk)})`,
      ...chunk,
    );
    for (const no of found) forked.add(Number(no));
  }
  for (const chunk of chunks([...messages].filter((n) => forked.has(sessionOf(n))))) {
    const rows = yield* all<{ n: number; branch: number }>(
      `SELECT n, branch FROM assistant_messages WHERE n IN (${marks(chunk)})`,
      ...chunk,
    );
    for (const { n, branch } of rows) branches.set(n, branch);
  }
  return branches;
}

interface HitRow extends ContentRow {
  readonly no: number;
  readonly id: string;
  readonly session_id: string;
  readonly role: string;
  readonly dated_at: string | null;
  readonly created_at: string;
}

function* readHits(ranked: readonly Ranked[]): Operation<SearchHit[]> {
  const rows = new Map<number, HitRow>();
  for (const chunk of chunks(ranked.map(({ n }) => n))) {
    const found = yield* all<HitRow>(
      `SELECT m.n AS n, s.no AS no, m.id AS id, m.session_id AS session_id, m.role AS role,
              m.dated_at AS dated_at, m.created_at AS created_at, m.content AS content
       FROM assistant_messages m JOIN assistant_sessions s ON s.id = m.session_id WHERE m.n IN (${marks(chunk)})`,
      ...chunk,
    );
    for (const row of found) rows.set(row.n, row);
  }
  const hits: SearchHit[] = [];
  for (const { n, score } of ranked) {
    const row = rows.get(n);
    if (row === undefined) continue;
    const content = yield* textOf(row);
    const createdAt = row.dated_at ?? row.created_at;
    hits.push({ id: row.id, sessionId: row.session_id, role: row.role, content, createdAt, score });
  }
  return hits;
}

// The text of a message; "" for one that cannot be read.
function* textOf(row: HitRow): Operation<string> {
  const message = yield* readContent(row.no, row, () => {});
  return message === null ? "" : searchableText(message);
}

// Engines bind at least a hundred values to a statement.
function* chunks(values: readonly number[]): Generator<readonly number[]> {
  for (let start = 0; start < values.length; start += 90) yield values.slice(start, start + 90);
}

function marks(values: readonly unknown[]): string {
  return values.map(() => "?").join(", ");
}
