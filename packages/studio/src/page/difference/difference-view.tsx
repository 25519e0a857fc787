import { compare, type Run } from "@stemma/model";
import { useMemo, useState } from "preact/hooks";
import { ScrollRegion } from "../components/scroll-region.js";
import { counted } from "../format.js";

interface Props {
  readonly before: string;
  readonly after: string;
  readonly names: readonly [string, string];
}

const MOST_CHARACTERS = 200_000;

/** Two texts beside each other, with what differs marked. Long runs that are the same are folded. */
export function DifferenceView({ before, after, names }: Props) {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const isCut = Math.max(before.length, after.length) > MOST_CHARACTERS;
  const rows = useMemo(
    () => compareTexts(before.slice(0, MOST_CHARACTERS), after.slice(0, MOST_CHARACTERS)),
    [before, after],
  );
  const pieces = useMemo(() => folded(rows), [rows]);
  return (
    <ScrollRegion label={`${names[0]} and ${names[1]}`} class="difference">
      <div class="difference-head" aria-hidden="true">
        <span>{names[0]}</span>
        <span>{names[1]}</span>
      </div>
      {pieces.map(({ start, rows, isFolded }) =>
        isFolded && !opened.has(start) ? (
          <button
            key={start}
            type="button"
            class="difference-fold"
            onClick={() => setOpened(new Set([...opened, start]))}
          >
            {counted(rows.length, "line")} the same
          </button>
        ) : (
          // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place.
          rows.map((row, line) => <Row key={start + line} row={row} />)
        ),
      )}
      {isCut && <p class="nothing">Only the beginning is compared: the texts are very long.</p>}
    </ScrollRegion>
  );
}

function Row({ row }: { readonly row: DifferenceRow }) {
  return (
    <div class={`difference-row is-${row.kind}`}>
      <Side segments={row.before} kind={row.kind === "same" ? "same" : "removed"} />
      <Side segments={row.after} kind={row.kind === "same" ? "same" : "added"} />
    </div>
  );
}

function Side({ segments, kind }: { readonly segments: readonly Segment[] | null; readonly kind: string }) {
  if (segments === null) return <span class="side is-absent" />;
  const Mark = kind === "added" ? "ins" : "del";
  return (
    <span class={`side is-${kind}`} dir="auto">
      {/* biome-ignore lint/suspicious/noArrayIndexKey: a piece is its place in the line. */}
      {segments.map(({ text, isMarked }, place) => (isMarked ? <Mark key={place}>{text}</Mark> : text))}
    </span>
  );
}

/** Neighbouring lines, which are shown or folded together. */
interface Piece {
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

/** A line on both sides; a side without it is null. */
interface DifferenceRow {
  readonly kind: "same" | "changed" | "removed" | "added";
  readonly before: readonly Segment[] | null;
  readonly after: readonly Segment[] | null;
}

interface Segment {
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
