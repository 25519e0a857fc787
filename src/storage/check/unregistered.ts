import type { Dialect } from "../engine/dialect.js";
import { all, type Operation, run } from "../engine/operation.js";
import type { Findings } from "./findings.js";

const NUMBERED = ["assistant_branches", "assistant_media_refs", "assistant_media"] as const;
const unregistered = ({ namesSessions }: Dialect, table: string) =>
  namesSessions
    ? `NOT EXISTS (SELECT 1 FROM assistant_sessions s WHERE s.id = ${table}.session_id AND s.no = ${table}.no)`
    : "no NOT IN (SELECT s.no FROM assistant_sessions s)";

/** Rows that are kept by the number of a session that is not there. */
export function* checkUnregistered(sql: Dialect, found: Findings): Operation<void> {
  const names = sql.namesSessions ? "no, session_id" : "no";
  for (const table of NUMBERED) {
    const query = `SELECT DISTINCT ${names} FROM ${table} WHERE ${unregistered(sql, table)}`;
    for (const { no: sessionNumber } of yield* all<{ no: number }>(query)) {
      const message = `Session ${sessionNumber}, for which rows are kept, is not in the registry.`;
      found.add("place", table, null, null, message);
    }
  }
}

/** Removes them. Comes last: what a session lacks is looked for among them. */
export function* repairUnregistered(sql: Dialect, keepMedia: boolean): Operation<void> {
  for (const table of NUMBERED) {
    if (!(keepMedia && table === "assistant_media"))
      yield* run(`DELETE FROM ${table} WHERE ${unregistered(sql, table)}`);
  }
}
