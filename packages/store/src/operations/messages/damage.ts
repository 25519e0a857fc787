import { StemmaError } from "@stemma/model";
import type { CorruptHandler } from "../../engine/dialect.js";

const ADVICE = "Run `stemma check --repair`, or store.check({ repair: true }).";

/** The error for rows that do not fit together: each can be read, but not what they say of each other. */
export function damaged(details: { readonly [name: string]: unknown }, why: string): StemmaError {
  return new StemmaError("CORRUPT_MESSAGE", details, `${why} ${ADVICE}`);
}

/** Hands such an error to `onCorrupt`, or throws it where the reader passed none. `id` is the message whose row is meant, if it has one. */
export function reportDamage(onCorrupt: CorruptHandler, id: string, error: StemmaError): void {
  if (onCorrupt === undefined) throw error;
  onCorrupt({ id, error });
}

/** The row after `last`, for whoever reads on. A damaged file may give rows in another order, and no end of them. */
export function rowAfter(last: number, from: number): number {
  assertOrder(last >= from);
  return last + 1;
}

/** For whoever reads on behind keys. Engines order texts each in their own way, so only an end that comes twice tells. */
export function watchEnds(): (...end: readonly unknown[]) => void {
  const ends = new Set<string>();
  return (...end) => {
    const text = JSON.stringify(end);
    assertOrder(!ends.has(text));
    ends.add(text);
  };
}

/** For whoever reads page by page, behind the row at which the page before ended. */
export function assertOrder(isBehind: boolean): void {
  if (isBehind) return;
  throw new StemmaError("STORE_FAILED", {}, "A table gives its rows in no order: the database file is damaged.");
}
