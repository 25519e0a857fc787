import { StemmaError } from "../../errors.js";
import type { SearchIndex } from "../engine/dialect.js";
import { ceilingOf, floorOf } from "../operations/row-id.js";
import { markAllUnindexed, reindexSome } from "../operations/search/index-rows.js";
import { findSessionNumber } from "../operations/session-head.js";
import type { CheckRun } from "./check-run.js";
import { Findings } from "./findings.js";
import { compareIndex, type Differing, repairIndex, windowEnd } from "./search-index.js";

const TABLES = { messages: "assistant_fts", entries: "cf_agents_search_fts" } as const;

/** Compares the search indexes with what they are of: all of them, or a session's messages. */
export async function checkIndex(run: CheckRun): Promise<void> {
  const { runner, sql } = run.open;
  const { sessionId } = run.options;
  if (sessionId !== undefined) {
    const number = await runner.read(() => findSessionNumber(sessionId));
    if (number !== null) await checkWindow(run, "messages", floorOf(number), ceilingOf(number));
    return;
  }
  for (const index of ["messages", "entries"] as const) {
    for (let lo = Number.MIN_SAFE_INTEGER; lo < Number.MAX_SAFE_INTEGER; ) {
      const hi = await runner.read(() => windowEnd(sql, index, lo)).catch(() => Number.MAX_SAFE_INTEGER);
      await checkWindow(run, index, lo, hi);
      lo = hi + 1;
    }
  }
}

async function checkWindow(run: CheckRun, index: SearchIndex, lo: number, hi: number): Promise<void> {
  const { runner, sql } = run.open;
  const runIn = run.dialect.indexCheckWrites ? runner.write : runner.read;
  let counted = 0;
  const look = async (): Promise<Differing[] | Error> => {
    const compare = () => compareIndex(sql, run.dialect, index, lo, hi);
    try {
      const glanced = await run.glance(compare);
      const { differing, documents } = glanced?.differing.length === 0 ? glanced : await runIn(compare);
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
  found.count(TABLES[index], counted);
  run.report(findingsOf(index, before), found);
}

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
    yield* markAllUnindexed();
    // All of it in one transaction: a mark that stays would make the next program that opens the store go on with it.
    while (search !== null && !(yield* reindexSome(sql, search)));
  });
}

function findingsOf(index: SearchIndex, seen: Differing[] | Error): Findings {
  const found = new Findings();
  const table = TABLES[index];
  if (seen instanceof Error) {
    found.add("index", table, null, null, `The search index could not be read: ${seen.message}`);
    return found;
  }
  for (const { n: rowId, text, sessionId, id } of seen) {
    const message =
      text === null ? `It holds row ${rowId}, which is not there.` : "It does not hold what the text says.";
    found.add("index", table, sessionId, id, message);
  }
  return found;
}
