import { stemma } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { ratios, runInPieces } from "../runner.mjs";
import {
  connectClient,
  createRunner,
  FEWEST,
  parseQuery,
  queryTerms,
  rankByWords,
  sqliteDialect,
} from "../stemma-internals.mjs";
import { verify } from "../verify.mjs";

/** As many matches as a search scores at first of the rarest word; of each other one `FEWEST`. */
export const DEPTH = 250;
/** As many as a search gives; both put only these in order. */
export const BEST = 20;
const MESSAGES_OF_A_SESSION = 2 ** 28;

/**
 * Full-text search of one long session, against a bare query of the same index that looks at as many matches: the ranking
 * alone, and the whole call with its snippets.
 */
export async function measureSearch({ datasets, scales, clock, turns, report }) {
  const count = scales.large;
  const { db, session } = await datasets.open(stemma, count);
  const range = rangeOf(db, MAIN);
  const bounds = [range.lo, range.hi];
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 1e9, search: true });
  const runner = createRunner(connectClient(db), "sqlite", { isPrepared: () => true });
  const selectBest = db.prepare(
    `SELECT rowid FROM assistant_fts
     WHERE assistant_fts MATCH ? AND rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER) ORDER BY rank LIMIT ${BEST}`,
  );
  for (const [title, words] of Object.entries(queriesOf(datasets.conversation(count)))) {
    const query = words.join(" ");
    const parsed = parseQuery(query);
    const quoted = queryTerms(parsed).map((sequence) => `"${sequence.join(" ")}"`);
    const expression = quoted.join(" OR ");
    const select = db.prepare(bareQuery(words.length));
    const values = quoted.flatMap((word) => [word, ...bounds]);
    const tasks = {
      bare: { run: () => select.all(...values) },
      unbounded: { run: () => selectBest.all(expression, ...bounds) },
      core: { run: () => runner.read(() => rankByWords(dialect, parsed)(range, DEPTH, BEST)) },
      whole: { run: () => session(MAIN).search(query) },
    };
    const { ranked } = await tasks.core.run();
    const hits = await tasks.whole.run();
    verify(tasks.bare.run().length === BEST && hits.length === BEST, title, "it does not find 20 messages.");
    verify(ranked.length >= BEST, title, "the ranking has fewer than 20 messages.");
    verify(
      hits.every(({ content }) => words.some((word) => content.includes(word))),
      title,
      "a hit has none of the words.",
    );
    const times = await runInPieces(tasks, { ...clock, turns: Math.max(turns, 100) });
    const work = `search of ${count.toLocaleString("en")}, ${title}`;
    report.row({
      work: `${work}, ranking: its time`,
      against: "an equally bounded bare query",
      target: { atMost: 1.2 },
      values: ratios(times.core, times.bare),
    });
    report.row({
      work: `${work}, whole: its time`,
      against: "the 20 best by BM25",
      values: ratios(times.whole, times.unbounded),
    });
  }
}

/** A session's range of row ids. */
export function rangeOf(db, sessionId) {
  const no = db.prepare("SELECT no FROM assistant_sessions WHERE id = ?").pluck().get(sessionId);
  return { sessionId, lo: no * MESSAGES_OF_A_SESSION, hi: (no + 1) * MESSAGES_OF_A_SESSION - 1 };
}

// By hand: the same matches, scored by BM25, and the 20 best messages. The words are given rarest first.
function bareQuery(words) {
  const newest = Array.from(
    { length: words },
    (_, word) => `SELECT n, score FROM (
       SELECT rowid AS n, bm25(assistant_fts) AS score FROM assistant_fts
       WHERE assistant_fts MATCH ? AND rowid BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)
       ORDER BY rowid DESC LIMIT ${word === 0 ? DEPTH : FEWEST}
     )`,
  );
  const [only] = newest;
  if (words === 1) return `${only} ORDER BY score LIMIT ${BEST}`;
  return `SELECT n FROM (${newest.join(" UNION ALL ")}) GROUP BY n ORDER BY sum(score) LIMIT ${BEST}`;
}

// Words by how many messages have them, of several the rarest first.
export function queriesOf(messages) {
  const counts = new Map();
  for (const { parts } of messages) {
    const text = parts.map((part) => part.text ?? "").join(" ");
    for (const word of new Set(text.split(" "))) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  const words = [...counts.keys()].filter((word) => word.length > 4).sort((a, b) => counts.get(b) - counts.get(a));
  const middle = Math.floor(words.length / 2);
  return {
    "a common word": words.slice(0, 1),
    "a rare word": words.slice(-1),
    "three words": [words.at(-2), words[middle], words[1]],
  };
}
