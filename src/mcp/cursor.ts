import { invalid } from "../errors.js";
import { sha256 } from "../model/sha256.js";

const NO_CURSOR =
  "This cursor belongs to another call. Pass the nextCursor of the answer before, with the same arguments.";

/** The question that a cursor goes on with: the tool's name and its arguments. */
export type Question = readonly unknown[];

/** A cursor that goes on at `position` with this question only. */
export function cursorOf(question: Question, position: string | number): string {
  return `${markOf(question)}.${position}`;
}

/** The position of a cursor, null without one. Errors: `INVALID_ARGUMENT` for that of another question. */
export function positionOf(question: Question, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const mark = `${markOf(question)}.`;
  if (cursor.startsWith(mark) && cursor.length > mark.length) return cursor.slice(mark.length);
  throw invalid(NO_CURSOR);
}

/** The same of a cursor whose position is a whole number; 0 without one. Errors: `INVALID_ARGUMENT`. */
export function offsetOf(question: Question, cursor: string | undefined): number {
  const position = positionOf(question, cursor);
  if (position === null) return 0;
  if (/^[1-9]\d{0,8}$/.test(position)) return Number(position);
  throw invalid(NO_CURSOR);
}

// Not a secret: what a cursor leads to is in scope anyway.
function markOf(question: Question): string {
  return sha256(JSON.stringify(question)).slice(0, 8);
}
