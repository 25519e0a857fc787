import { compare, type Run } from "@stemma/model";

/** A line on both sides; a side without it is null. */
export interface DifferenceRow {
  readonly kind: "same" | "changed" | "removed" | "added";
  readonly before: readonly Segment[] | null;
  readonly after: readonly Segment[] | null;
}

export interface Segment {
  readonly text: string;
  readonly isMarked: boolean;
}

const LONGEST_MARKED_LINE = 5000;
const LEAST_IN_COMMON = 0.4;

/** The lines of two texts beside each other, with the words marked that differ within a changed line. */
export function compareTexts(before: string, after: string): DifferenceRow[] {
  const rows: DifferenceRow[] = [];
  const runs = compare(linesOf(before), linesOf(after));
  for (let at = 0; at < runs.length; at += 1) {
    const run = runs[at] as Run;
    const following = runs[at + 1];
    if (run.kind === "same") {
      for (const line of run.items) rows.push({ kind: "same", before: plain(line), after: plain(line) });
    } else if (run.kind === "removed" && following?.kind === "added") {
      addPaired(rows, run.items, following.items);
      at += 1;
    } else {
      addPaired(rows, run.kind === "removed" ? run.items : [], run.kind === "added" ? run.items : []);
    }
  }
  return rows;
}

// A text that is empty has no line, not an empty one.
const linesOf = (text: string) => (text === "" ? [] : text.split("\n"));

function addPaired(rows: DifferenceRow[], removed: readonly string[], added: readonly string[]): void {
  for (let line = 0; line < Math.max(removed.length, added.length); line += 1) {
    const before = removed[line];
    const after = added[line];
    if (before === undefined) rows.push({ kind: "added", before: null, after: plain(after ?? "") });
    else if (after === undefined) rows.push({ kind: "removed", before: plain(before), after: null });
    else rows.push({ kind: "changed", ...markedWords(before, after) });
  }
}

function markedWords(before: string, after: string): { before: Segment[]; after: Segment[] } {
  if (before.length + after.length > LONGEST_MARKED_LINE) return { before: plain(before), after: plain(after) };
  const runs = compare(wordsOf(before), wordsOf(after));
  const common = runs.filter(({ kind }) => kind === "same").flatMap(({ items }) => items);
  // Two lines with little in common are other lines, in which every word would be marked.
  if (common.join("").length < Math.max(before.length, after.length) * LEAST_IN_COMMON) {
    return { before: plain(before), after: plain(after) };
  }
  const side = (only: "removed" | "added") =>
    runs
      .filter(({ kind }) => kind === "same" || kind === only)
      .map(({ kind, items }): Segment => ({ text: items.join(""), isMarked: kind === only }));
  return { before: side("removed"), after: side("added") };
}

function plain(text: string): Segment[] {
  return [{ text, isMarked: false }];
}

function wordsOf(line: string): string[] {
  return line.match(/[\p{L}\p{N}\p{M}_]+|\s+|[^\p{L}\p{N}\p{M}_\s]/gu) ?? [];
}
