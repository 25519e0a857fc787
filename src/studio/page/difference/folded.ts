import type { DifferenceRow } from "./difference.js";

/** Neighbouring lines, which are shown or folded together. */
export interface Piece {
  /** The place of its first line. */
  readonly start: number;
  readonly rows: readonly DifferenceRow[];
  readonly isFolded: boolean;
}

// So many equal lines are shown beside a difference.
const BESIDE = 3;
const FEWEST_FOLDED = 6;

/** Folds long runs of equal lines, but for those beside a difference. Texts without a difference are shown whole. */
export function folded(rows: readonly DifferenceRow[]): Piece[] {
  if (rows.every(({ kind }) => kind === "same")) return [{ start: 0, rows, isFolded: false }];
  const pieces: Piece[] = [];
  const take = (start: number, end: number, isFolded: boolean) => {
    if (end > start) pieces.push({ start, rows: rows.slice(start, end), isFolded });
  };
  let shown = 0;
  let at = 0;
  while (at < rows.length) {
    if (rows[at]?.kind !== "same") {
      at += 1;
      continue;
    }
    let end = at;
    while (rows[end]?.kind === "same") end += 1;
    const first = at === 0 ? 0 : at + BESIDE;
    const last = end === rows.length ? end : end - BESIDE;
    if (last - first >= FEWEST_FOLDED) {
      take(shown, first, false);
      take(first, last, true);
      shown = last;
    }
    at = end;
  }
  take(shown, rows.length, false);
  return pieces;
}
