import { baseline } from "../candidates/baseline.mjs";
import { stemma } from "../candidates/stemma.mjs";
import { MAIN } from "../datasets.mjs";
import { ratios, runInPieces } from "../runner.mjs";
import { verify, verifyMessages } from "../verify.mjs";

/** Deletes of a turn. */
const BATCH = 15;

/** A copy of a conversation under another id: the same rows and index entries by INSERT … SELECT. */
export async function measureFork({ datasets, scales, clock, report }) {
  const count = scales.medium;
  const ours = await datasets.open(stemma, count, "fork");
  const bare = await datasets.open(baseline, count, "fork");
  const leaf = datasets.conversation(count).at(-1).id;
  const copy = prepareCopy(bare.db, datasets.conversation(count));
  const forks = [];
  const tasks = {
    stemma: { run: async () => forks.push((await ours.manager.fork(MAIN, leaf, "fork")).id) },
    bare: { prepare: (number) => `fork${number}`, run: copy },
  };
  const times = await runInPieces(tasks, { ...clock, turns: 1 });
  verifyMessages("fork", await ours.manager.getHistory(forks.at(-1)), datasets.conversation(count));
  verifyMessages("bare fork", bare.history("fork1"), datasets.conversation(count));
  report.row({
    work: `fork of ${count.toLocaleString("en")}: its time`,
    against: "INSERT … SELECT of the same rows and index entries",
    target: { atMost: 1.3 },
    values: ratios(times.stemma, times.bare),
  });
}

// The index keeps no text, so the bare copy is given it in a table.
function prepareCopy(db, messages) {
  db.exec("CREATE TEMP TABLE texts (seq INTEGER PRIMARY KEY, text TEXT NOT NULL)");
  const insert = db.prepare("INSERT INTO texts VALUES (?, ?)");
  messages.forEach((message, index) => {
    const texts = message.parts.filter(({ type }) => type === "text").map(({ text }) => text);
    if (texts.length > 0) insert.run(index + 1, texts.join("\n"));
  });
  const rows = db.prepare(
    `INSERT INTO m (session_id, seq, id, parent, role, content, tokens)
     SELECT ?, seq, id, parent, role, content, tokens FROM m WHERE session_id = '${MAIN}' ORDER BY seq`,
  );
  const entries = db.prepare(
    "INSERT INTO f (rowid, text) SELECT CAST(? AS INTEGER) + seq, text FROM texts ORDER BY seq",
  );
  let base = 1_000_000;
  return db.transaction((sessionId) => {
    verify(rows.run(sessionId).changes === messages.length, "bare fork", "it did not copy all.");
    entries.run(base);
    base += 1_000_000;
  });
}

/** A message in the middle of a conversation, whose child moves to its parent: against the row and its index entry. */
export async function measureDelete({ datasets, scales, clock, turns, report }) {
  const count = scales.medium;
  const ours = await datasets.open(stemma, count, "delete");
  const bare = await datasets.open(baseline, count, "delete");
  const ids = datasets.conversation(count).map(({ id }) => id);
  const first = bare.db.prepare("SELECT max(rowid) FROM f").pluck().get() - count;
  const deleteEntry = bare.db.prepare("DELETE FROM f WHERE rowid = CAST(? AS INTEGER)");
  const deleteBoth = bare.db.transaction((index) => {
    bare.delete(MAIN, ids[index]);
    deleteEntry.run(first + index + 1);
  });
  // No two of them are neighbours.
  const middle = (number) =>
    Array.from({ length: BATCH }, (_, index) => Math.floor(count / 8) + 2 * (BATCH * number + index));
  const tasks = {
    stemma: {
      prepare: middle,
      run: async (indexes) => {
        for (const index of indexes) await ours.session(MAIN).deleteMessages([ids[index]]);
      },
    },
    bare: { prepare: middle, run: (indexes) => indexes.forEach(deleteBoth) },
  };
  const times = await runInPieces(tasks, { ...clock, turns });
  const left = await ours.history(MAIN);
  verify(left.length < count, "delete", "nothing is deleted.");
  verifyMessages("delete", left, bare.history(MAIN));
  report.row({
    work: "delete in the middle: its time",
    against: "a bare delete of the row and its index entry",
    target: { atMost: 3 },
    values: ratios(times.stemma, times.bare),
  });
}

/** What costs the database next to nothing, and must not cost the session more as it grows. */
export async function measurePaths({ datasets, scales, clock, turns, report }) {
  const count = scales.large;
  const ours = await datasets.open(stemma, count, "paths");
  const bare = await datasets.open(baseline, count, "paths");
  const session = ours.session(MAIN);
  const messages = datasets.conversation(count);
  const leaves = [messages.at(-1).id, "other"];
  await session.appendMessage({ ...messages[1], id: "other" }, messages[0].id);
  const total = bare.db.prepare(`SELECT count(*) FROM m WHERE session_id = '${MAIN}'`).pluck();
  bare.db.exec("CREATE TABLE leaf (session_id TEXT PRIMARY KEY, id TEXT) WITHOUT ROWID");
  bare.db.exec(`INSERT INTO leaf VALUES ('${MAIN}', '')`);
  const setLeaf = bare.db.prepare("UPDATE leaf SET id = ? WHERE session_id = ?");
  const switches = await runInPieces(
    {
      stemma: { prepare: (number) => leaves[number % 2], run: (leaf) => session.setActiveLeaf(leaf) },
      bare: { prepare: (number) => leaves[number % 2], run: (leaf) => setLeaf.run(leaf, MAIN) },
    },
    { ...clock, turns: 2 * turns },
  );
  const at = ` at ${count.toLocaleString("en")}`;
  report.row({
    work: `branch switch${at}: its time`,
    against: "an UPDATE of one row",
    values: ratios(switches.stemma, switches.bare),
  });
  await session.setActiveLeaf(leaves[0]);
  verify((await session.getPathLength()) === count && total.get() === count, "path length", "it is wrong.");
  const lengths = await runInPieces(
    { stemma: { run: () => session.getPathLength() }, bare: { run: () => total.get() } },
    { ...clock, turns },
  );
  report.row({
    work: `path length${at}: its time`,
    against: "SELECT count(*)",
    values: ratios(lengths.stemma, lengths.bare),
  });
  await session.addCompaction("What was said.", messages[0].id, messages.at(-51).id);
  const visible = await session.getHistory();
  verifyMessages("compaction", visible.slice(1), messages.slice(-50));
  const reads = await runInPieces(
    { stemma: { run: () => session.getHistory() }, bare: { run: () => bare.last(MAIN, 50) } },
    { ...clock, turns },
  );
  report.row({
    work: `history under a summary of all but 50${at}: its time`,
    against: "a bare SELECT of the 50",
    values: ratios(reads.stemma, reads.bare),
  });
}
