import type { NumberedSession } from "../engine/search-dialect.js";
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
  /** Of a row whose session has one. */
  numberOf(rowId: number, session: string): number;
  /** Null for a row whose session has none. */
  findNumber(rowId: number, session: string): number | null;
  /** Those of rows whose session has a number, ascending, each once. */
  numbersOf(rows: FoundRows): number[];
}

interface Numbered extends NumberedSession {
  number: number;
  /** Another one of the same id: the rows of one that is gone may be left. */
  readonly next: Numbered | undefined;
}

/** Numbers the sessions of rows for one call, in the order of the rows, so that a row's number says of which session it is. */
export function numberSessions(lists: readonly FoundRows[]): Numbering {
  // By the id alone: to make a key of it and the number, for each row, would be half of the work.
  const named = new Map<string, Numbered>();
  const find = (no: number, id: string): Numbered | undefined => {
    let session = named.get(id);
    while (session !== undefined && session.no !== no) session = session.next;
    return session;
  };
  const sessions: Numbered[] = [];
  for (const { numbers, sessions: ids } of lists) {
    for (let index = 0; index < numbers.length; index += 1) {
      const no = sessionOf(numbers[index] as number);
      const id = ids[index] as string;
      if (find(no, id) !== undefined) continue;
      const session = { id, no, number: 0, next: named.get(id) };
      named.set(id, session);
      sessions.push(session);
    }
  }
  sessions.sort((a, b) => a.no - b.no || (a.id < b.id ? -1 : 1));
  for (const [index, session] of sessions.entries()) session.number = index + 1;
  const findNumber = (rowId: number, id: string): number | null => {
    const session = find(sessionOf(rowId), id);
    return session === undefined ? null : session.number * SPAN + (rowId % SPAN);
  };
  return {
    sessions,
    numberOf: (rowId, id) => findNumber(rowId, id) as number,
    findNumber,
    numbersOf: ({ numbers, sessions: ids }) => {
      const found = new Float64Array(numbers.length);
      let length = 0;
      for (let index = 0; index < numbers.length; index += 1) {
        const number = findNumber(numbers[index] as number, ids[index] as string);
        if (number !== null) found[length++] = number;
      }
      // Numbers of such an array are compared as numbers.
      return Array.from(found.subarray(0, length).sort()).filter((number, index, all) => number !== all[index - 1]);
    },
  };
}
