import type { NumberedSession } from "../engine/dialect.js";
import { SPAN, sessionOf } from "../operations/row-id.js";

/** Rows of messages: the number of each, and its session. */
export interface FoundRows {
  readonly numbers: readonly number[];
  readonly sessions: readonly string[];
}

/** What tells rows of several sessions apart, whose own numbers do not. */
export interface Numbering {
  /** The first has the number 1. */
  readonly sessions: readonly NumberedSession[];
  numberOf(rowId: number, session: string): number;
  /** Those of rows whose session has a number, ascending, each once. */
  numbersOf(rows: FoundRows): number[];
}

/** Numbers the sessions of rows for one call, in the order of the rows, so that a row's number says of which session it is. */
export function numberSessions(lists: readonly FoundRows[]): Numbering {
  const found = new Map<string, NumberedSession>();
  const keyOf = (no: number, session: string) => `${no} ${session}`;
  for (const { numbers, sessions } of lists) {
    for (const [index, rowId] of numbers.entries()) {
      const session = { id: sessions[index] as string, no: sessionOf(rowId) };
      found.set(keyOf(session.no, session.id), session);
    }
  }
  const sessions = [...found.values()].sort((a, b) => a.no - b.no || (a.id < b.id ? -1 : 1));
  const numbers = new Map(sessions.map(({ id, no }, index) => [keyOf(no, id), index + 1]));
  const find = (rowId: number, session: string) => numbers.get(keyOf(sessionOf(rowId), session));
  const numberOf = (rowId: number, session: string) => (find(rowId, session) as number) * SPAN + (rowId % SPAN);
  return {
    sessions,
    numberOf,
    numbersOf: (rows) => {
      const found = new Float64Array(rows.numbers.length);
      let length = 0;
      for (const [index, rowId] of rows.numbers.entries()) {
        const session = find(rowId, rows.sessions[index] as string);
        if (session !== undefined) found[length++] = session * SPAN + (rowId % SPAN);
      }
      // Numbers of such an array are compared as numbers.
      return Array.from(found.subarray(0, length).sort()).filter((number, index, all) => number !== all[index - 1]);
    },
  };
}
