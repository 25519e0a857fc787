import { StemmaError } from "../errors.js";
import { utf8Length } from "../lib/utf8.js";
import { NAME_LIMITS } from "./name-limits.js";
/** False for what no database column keeps: NUL and halves of surrogate pairs. */
export const isStorableText = (text: string) => !text.includes("\0") && text.isWellFormed();

/** Throws `INVALID_TEXT` for what no database column keeps. See `isStorableText`. */
export function assertStorableText(text: string, what: string): void {
  if (!isStorableText(text)) {
    const message = `${what} holds NUL or half a surrogate pair; remove it (text.toWellFormed() mends the latter).`;
    throw new StemmaError("INVALID_TEXT", { what }, message);
  }
}

/** A text without what a column of some engine cannot keep: NUL and halves of surrogate pairs. */
export function storableText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

/** A short text of a file that can be stored as it is: the name of a model or a folder. Undefined for anything else. */
export function nameOf(value: unknown): string | undefined {
  const isName = typeof value === "string" && value !== "" && utf8Length(value) <= NAME_LIMITS.model;
  return isName && storableText(value) === value ? value : undefined;
}
