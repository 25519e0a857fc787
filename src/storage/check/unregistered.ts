import { column, type Operation, run } from "../engine/operation.js";
import type { Findings } from "./findings.js";

const NUMBERED = ["assistant_branches", "assistant_media_refs", "assistant_media"] as const;
const UNREGISTERED = "no NOT IN (SELECT s.no FROM assistant_sessions s)";

/** Rows that are kept by the number of a session that is not there. */
export function* checkUnregistered(found: Findings): Operation<void> {
  for (const table of NUMBERED) {
    for (const sessionNumber of yield* column<number>(`SELECT DISTINCT no FROM ${table} WHERE ${UNREGISTERED}`)) {
      found.add(
        "place",
        table,
        null,
        null,
        `Session ${sessionNumber}, for which rows are kept, is not in the registry.`,
      );
    }
  }
}

/** Removes them. Comes last: what a session lacks is looked for among them. */
export function* repairUnregistered(keepMedia: boolean): Operation<void> {
  for (const table of NUMBERED) {
    if (!(keepMedia && table === "assistant_media")) yield* run(`DELETE FROM ${table} WHERE ${UNREGISTERED}`);
  }
}
