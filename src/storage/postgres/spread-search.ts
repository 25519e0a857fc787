import { scoreIn } from "../../model/bm25.js";
import { messagesOf, nearMessages, needOthers, neighboursOf } from "../../model/rank.js";
import type { TermSequences } from "../../model/terms.js";
import type { Condition, Operation } from "../engine/operation.js";
import type { FoundMatches, RowRange, SequenceMatches } from "../engine/search-dialect.js";
import { SPAN, sessionOf } from "../operations/row-id.js";
import { arrayLiteral } from "./array-literal.js";
import { type FoundRows, type Numbering, numberSessions } from "./numbered-rows.js";
import { PHRASES } from "./phrase.js";
import { quotasOf } from "./quotas.js";
import { MANY } from "./search-limits.js";
import { countHolding, holdingOf, type NewestRow, newestHolding, sizeOf } from "./spread-queries.js";

/**
 * Search in tables that are spread over servers, where a statement of all sessions cannot look at a row by another one. So the
 * servers count first; then each gives its newest rows, with what a score is made of. See `SearchDialect.matches`.
 */
export function* spreadMatches(sequences: TermSequences, range: RowRange, limit: number): Operation<FoundMatches> {
  const within = boundsOf(range);
  const newest = yield* scoreNewest(sequences, within, limit);
  const numbering = numberSessions(newest.map(({ rows }) => rowsOf(rows)));
  const found = newest.map(({ rows, scoreOf, ...sequence }) => {
    const scored = rows
      .map((row) => ({ number: numbering.numberOf(row.n, row.session_id), score: scoreOf(row) }))
      .sort((a, b) => a.number - b.number);
    return {
      ...sequence,
      numbers: scored.map(({ number }) => number),
      scores: scored.map(({ score }) => score),
      others: [],
    };
  });
  const { sessions } = numbering;
  const sequencesFound = needOthers(found) ? yield* withOthers(sequences, within, found, numbering) : found;
  return { sequences: sequencesFound, branches: null, sessions };
}

const rowsOf = (rows: readonly Pick<NewestRow, "n" | "session_id">[]): FoundRows => ({
  numbers: rows.map(({ n: rowId }) => rowId),
  sessions: rows.map(({ session_id }) => session_id),
});

function boundsOf(range: RowRange): Condition {
  const { lo, hi, sessionId, several } = range ?? { lo: 0, hi: Number.MAX_SAFE_INTEGER, sessionId: null };
  const bounds = "d.n BETWEEN ? AND ?";
  if (sessionId !== null) return { condition: `d.session_id = ? AND ${bounds}`, values: [sessionId, lo, hi] };
  if (several === undefined) return { condition: bounds, values: [lo, hi] };
  const ids = arrayLiteral(several.ids);
  return { condition: `d.session_id = ANY (?::text::text[]) AND ${bounds}`, values: [ids, lo, hi] };
}

/** The newest rows that hold a sequence, and what a row scores by it. */
interface Newest extends Pick<SequenceMatches, "documents" | "complete"> {
  readonly rows: readonly NewestRow[];
  readonly scoreOf: (row: NewestRow) => number;
}

function* scoreNewest(sequences: TermSequences, within: Condition, limit: number): Operation<Newest[]> {
  const size = yield* sizeOf(within);
  const counts = yield* countHolding(sequences, within);
  const phrases = new Map<number, NewestRow[]>();
  for (const [index, terms] of sequences.entries()) {
    if (terms.length === 1 || counts[index] === 0) continue;
    const held = (yield* newestHolding(terms, within, PHRASES)).filter(({ times }) => times > 0);
    phrases.set(index, held);
    counts[index] = held.length;
  }
  const documents = Math.max(size.documents, ...counts);
  const found: Newest[] = [];
  for (const [index, quota] of quotasOf(counts, limit).entries()) {
    const terms = sequences[index] as readonly string[];
    const count = counts[index] as number;
    const newest =
      count === 0 || quota <= 0 ? [] : (phrases.get(index) ?? (yield* newestHolding(terms, within, quota)));
    const rows = newest.slice(0, Math.max(0, quota));
    const score = scoreIn({ ...size, documents }, count);
    const scoreOf = ({ times, length }: NewestRow) => score(times, length);
    found.push({ documents: count, complete: rows.length === count, rows, scoreOf });
  }
  return found;
}

function* withOthers(
  sequences: TermSequences,
  within: Condition,
  found: readonly SequenceMatches[],
  { sessions, numbersOf }: Numbering,
): Operation<SequenceMatches[]> {
  const messages = messagesOf(found);
  const rowsAt = (numbers: Iterable<number>): FoundRows => {
    const numbered = Array.from(numbers, (number) => ({ number, session: sessions[sessionOf(number) - 1] }));
    return {
      numbers: numbered.map(({ number, session }) => (session?.no ?? 0) * SPAN + (number % SPAN)),
      sessions: numbered.map(({ session }) => session?.id ?? ""),
    };
  };
  const near = neighboursOf(messages);
  const all: SequenceMatches[] = [];
  for (const [index, matches] of found.entries()) {
    const { complete, numbers, documents } = matches;
    if (complete || numbers.length === 0) {
      all.push(matches);
      continue;
    }
    const terms = sequences[index] as readonly string[];
    const among = documents >= MANY ? rowsAt(messages) : terms.length > 1 ? rowsAt(near) : null;
    const holding = yield* holdingOf(terms, within, among);
    all.push({ ...matches, others: nearMessages(numbersOf(rowsOf(holding)), messages) });
  }
  return all;
}
