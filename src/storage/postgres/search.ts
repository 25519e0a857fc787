import { messagesOf, nearMessages } from "../../model/rank.js";
import { documentTerms, type TermSequences } from "../../model/terms.js";
import type { FoundMatches, FoundRow, RowRange, SearchDialect, SearchIndex } from "../engine/dialect.js";
import { all, type Operation, run, runEach, type SqlValue } from "../engine/operation.js";
import { arrayLiteral } from "./array-literal.js";
import { scoreIn } from "./bm25.js";
import { searchEntries } from "./entry-search.js";
import { type FoundRows, numberSessions } from "./numbered-rows.js";
import { type Placement, spreadSearchOf } from "./placement.js";

/**
 * Full-text search on an index of our own, which ranks as SQLite's FTS5 does: a row for each document holds
 * its terms in order, and an inverted index (GIN) tells which rows hold a term. A `tsvector` would refuse documents of
 * more than a megabyte, and ranks without regard to how rare a word is.
 */
const TABLES: Record<SearchIndex, string> = { messages: "assistant_fts", entries: "cf_agents_search_fts" };

export const postgresSearch = (placement: Placement): SearchDialect => ({
  rows: TABLES,
  mayLag: false,
  indexesLater: false,
  get atOnce() {
    return !placement.isSpread && !placement.isApart;
  },

  *add(index, documents) {
    const rows = documents.flatMap(({ sessionId, rowId, document }) => {
      const terms = documentTerms(document);
      return terms.length === 0 ? [] : [[sessionId, rowId, terms.length, arrayLiteral(terms)]];
    });
    const table = TABLES[index];
    yield* runEach(`INSERT INTO ${table} (session_id, n, length, terms) VALUES (?, ?, ?, ?::text::text[])`, rows);
  },

  // A row that is there is written over, since an owner's columns stand in it: a tenant, say.
  *replace(index, documents) {
    const [first, last] = [documents[0], documents.at(-1)];
    if (first === undefined || last === undefined) return;
    const table = TABLES[index];
    const rows = documents.flatMap(({ sessionId, rowId, document }) => {
      const terms = documentTerms(document);
      return terms.length === 0 ? [] : [{ session: sessionId, n: rowId, length: terms.length, terms: terms.join(" ") }];
    });
    const given = "json_to_recordset(?::text::json) AS r (session TEXT, n BIGINT, length INTEGER, terms TEXT)";
    // An entry's number is its own, whatever session its row names; a row that is spread stays with that.
    const isNamed = index === "messages" || placement.isSpread;
    const [session, isOf] = isNamed ? ["", "d.session_id = r.session AND "] : ["session_id = r.session, ", ""];
    const known = yield* all<{ n: number; session_id: string }>(
      `UPDATE ${table} d SET ${session}length = r.length, terms = string_to_array(r.terms, ' ') FROM ${given}
       WHERE ${isOf}d.n = r.n RETURNING d.n AS n, d.session_id AS session_id`,
      JSON.stringify(rows),
    );
    const nameOf = (sessionId: string, rowId: number) => `${sessionId} ${rowId}`;
    const there = new Set(known.map((row) => nameOf(row.session_id, row.n)));
    yield* run(
      `INSERT INTO ${table} (session_id, n, length, terms) SELECT r.session, r.n, r.length, string_to_array(r.terms, ' ') FROM ${given}`,
      JSON.stringify(rows.filter((row) => !there.has(nameOf(row.session, row.n)))),
    );
    const [within, bounds] =
      index === "messages"
        ? [
            "(d.session_id, d.n) >= (?, ?) AND (d.session_id, d.n) <= (?, ?)",
            [first.sessionId, first.rowId, last.sessionId, last.rowId],
          ]
        : ["d.n BETWEEN ? AND ?", [first.rowId, last.rowId]];
    yield* run(
      `DELETE FROM ${table} d WHERE ${within} AND d.session_id || ' ' || d.n::text <> ALL (?::text::text[])`,
      ...bounds,
      arrayLiteral(rows.map((row) => nameOf(row.session, row.n))),
    );
  },

  // Reads rows of `from` alone: those of `to` may be on another server.
  *copy(from, to, shift, { condition, values }) {
    yield* run(
      `INSERT INTO assistant_fts (session_id, n, length, terms)
       SELECT ?, m.n + ?::bigint, f.length, f.terms FROM (SELECT m.n FROM ${condition} OFFSET 0) AS m
       CROSS JOIN LATERAL (SELECT f.length, f.terms FROM assistant_fts f WHERE f.session_id = ? AND f.n = m.n OFFSET 0) AS f`,
      ...[to.id, shift, ...values],
      from.id,
    );
  },

  *remove(index, sessionId, lo, hi) {
    const [own, ids] = sessionId === null ? ["", []] : ["session_id = ? AND ", [sessionId]];
    yield* run(`DELETE FROM ${TABLES[index]} WHERE ${own}n BETWEEN ? AND ?`, ...ids, lo, hi);
  },

  *matches(sequences, range, limit, shown = 0) {
    if (sequences.length === 0) return { sequences: [], branches: new Map(), sessions: [], rows: [] };
    const spread = spreadSearchOf(placement);
    return yield* spread === null
      ? callMatches(sequences, range, limit, shown)
      : spread.spreadMatches(sequences, range, limit);
  },

  *hits(places, since = null) {
    if (placement.isSpread) return null;
    if (places.length === 0) return [];
    const sessions = arrayLiteral(places.map(({ sessionId = "" }) => sessionId));
    const numbers = `{${places.map(({ n: rowId }) => rowId).join(",")}}`;
    return yield* frequent<FoundRow>("SELECT * FROM assistant_hits(?, ?, ?)", sessions, numbers, since);
  },

  entries: searchEntries,
});

/** What the first row of `MATCHES` holds. */
interface CalledMatches {
  /** How many messages there are, and how many terms each of them has on average. */
  readonly total: number;
  readonly mean: number;
  /** Of each sequence: how many messages hold it, those that are scored, and others. */
  readonly documents: readonly number[];
  readonly scored: readonly (readonly [...FoundTuple, lengths: number[], times: number[]] | null)[];
  readonly others: readonly (readonly [numbers: number[] | null, sessions: string[] | null] | null)[];
  /** Of messages whose session has several. */
  readonly branches: readonly [numbers: number[] | null, sessions: string[] | null, branches: number[] | null] | null;
  readonly since: number;
}

type FoundTuple = readonly [numbers: number[], sessions: string[]];

const rowsOf = (found: CalledMatches["scored" | "others"][number] | undefined): FoundRows => ({
  numbers: found?.[0] ?? [],
  sessions: found?.[1] ?? [],
});

function* frequent<R>(sql: string, ...values: SqlValue[]): Operation<R[]> {
  return (yield { sql, values, isFrequent: true }) as R[];
}

function* callMatches(
  sequences: TermSequences,
  range: RowRange,
  limit: number,
  shown: number,
): Operation<FoundMatches> {
  const session = range?.sessionId ?? null;
  const [call, own] = session === null ? ["assistant_matches(", []] : ["assistant_matches_in(?, ", [session]];
  const [row, ...rows] = yield* frequent<FoundRow & { matches: string }>(
    `SELECT * FROM ${call}?, ?, ?, ?, ?, ?)`,
    ...own,
    range?.lo ?? null,
    range?.hi ?? null,
    arrayLiteral(sequences.map(arrayLiteral)),
    // The only word, which takes less.
    sequences.flat().length === 1 ? (sequences[0]?.[0] ?? null) : null,
    limit,
    shown,
  );
  const nothing = { total: 0, mean: 1, documents: sequences.map(() => 0), scored: [], others: [], branches: null };
  const found: CalledMatches = row === undefined ? nothing : JSON.parse(row.matches);
  const { sessions, numberOf, findNumber, numbersOf } = numberSessions(found.scored.map(rowsOf));
  const size = { documents: Math.max(found.total, ...found.documents), length: found.mean };
  const matches = found.documents.map((count, index) => {
    const [numbers = [], sessions = [], lengths = [], times = []] = found.scored[index] ?? [];
    const score = scoreIn(size, count);
    const numbered = numbers.map((rowId, place) => ({
      number: numberOf(rowId, sessions[place] as string),
      score: score(times[place] as number, lengths[place] as number),
    }));
    // Rows of sessions that share a number come mixed.
    numbered.sort((a, b) => a.number - b.number);
    return {
      documents: count,
      complete: numbered.length === count,
      numbers: numbered.map(({ number }) => number),
      scores: numbered.map(({ score }) => score),
    };
  });
  const messages = messagesOf(matches);
  const othersOf = (index: number) => nearMessages(numbersOf(rowsOf(found.others[index])), messages);
  const isWhole = rows.length > 0;
  // Rows that may stand near a match are of any session.
  const branches = new Map<number, number>();
  for (const { n: rowId, session_id, branch } of isWhole ? rows : branchesOf(found)) {
    const number = findNumber(rowId, session_id);
    if (number !== null) branches.set(number, branch);
  }
  return {
    sequences: matches.map((each, index) => ({ ...each, others: othersOf(index) })),
    branches,
    sessions,
    since: found.since,
    rows: isWhole ? rows : undefined,
  };
}

type BranchOfRow = Pick<FoundRow, "n" | "session_id" | "branch">;

function branchesOf({ branches }: CalledMatches): BranchOfRow[] {
  const [numbers, sessions, found] = branches ?? [];
  return (numbers ?? []).map((rowId, index) => ({
    n: rowId,
    session_id: sessions?.[index] as string,
    branch: found?.[index] as number,
  }));
}
