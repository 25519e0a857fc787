import type { LaneRow } from "./layout.js";

/** For each row the column in which the shown path passes it by; null where it does not, or has its dot there. */
export function pathLanes(rows: readonly LaneRow[], onPath: ReadonlySet<number>): (number | null)[] {
  let lane: number | null = null;
  return rows.map((row, place) => {
    if (onPath.has(place)) {
      lane = row.parentLane;
      return null;
    }
    const passing = lane;
    // The lane of the path bends into that of the dot where both lead to the same message.
    if (lane !== null && row.joiningLane === lane) lane = row.lane;
    return passing;
  });
}
