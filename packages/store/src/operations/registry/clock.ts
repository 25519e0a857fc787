import { APPENDS_UNDATED } from "./session-order.js";

// The time that was asked for last, as texts. A text takes longer to write than all else that an append does with it.
let written = { time: 0, now: "", until: "" };

/** The time now as every table writes it. */
export function isoNow(): string {
  const time = Date.now();
  if (time !== written.time) {
    const until = new Date(time + APPENDS_UNDATED * 1000).toISOString();
    written = { time, now: new Date(time).toISOString(), until };
  }
  return written.now;
}

/** Until when the row of a session need not be dated again that is dated now. */
export const undatedUntil = (): string => written.until;
