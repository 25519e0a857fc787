import { StemmaError } from "../../errors.js";
import { INDEX_TABLES, type SearchIndex } from "../engine/search-dialect.js";
import { markAllUnindexed, reindexSome } from "../operations/search/reindex.js";
import { findSessionRows } from "../operations/session-head.js";
import type { CheckRun } from "./check-run.js";
import type { IndexWindow } from "./dialect.js";
import { Findings } from "./findings.js";
import { beginning, windowEnd, windowOfSession } from "./index-window.js";
import { compareIndex, type Differing, findSuspects, repairIndex } from "./search-index.js";

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
  const runIn = run.dialect.indexCheckWrites ? runner.write : runner.read;
  let counted = 0;
  const look = async (): Promise<Differing[] | Error> => {
    const compare = () => compareIndex(sql, run.dialect, index, window);
    try {
      const glanced = await run.glances(compare, keysOf);
      const { differing, documents } = glanced === null ? await runIn(compare) : { ...glanced, differing: [] };
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
  for (const { address, text, sessionId, id } of seen) {
    const message =
      text === null ? `It holds row ${address.n}, which is not there.` : "It does not hold what the text says.";
    found.add("index", table, sessionId, id, message);
  }
  return found;
}
