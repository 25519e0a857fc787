/** A run of text that both sides have, or only one. */
export interface Run {
  readonly kind: "same" | "removed" | "added";
  readonly items: readonly string[];
}

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

// Beyond so many steps the rest counts as replaced as a whole.
const MOST_STEPS = 1500;
const LONGEST_MARKED_LINE = 5000;
const LEAST_IN_COMMON = 0.4;

/** The lines of two texts beside each other, with the words marked that differ within a changed line. */
export function compareTexts(before: string, after: string): DifferenceRow[] {
  const rows: DifferenceRow[] = [];
  const runs = compare(before.split("\n"), after.split("\n"));
  for (let at = 0; at < runs.length; at += 1) {
    const run = runs[at] as Run;
    const following = runs[at + 1];
    if (run.kind === "same") {
      rows.push(...run.items.map((line): DifferenceRow => ({ kind: "same", before: plain(line), after: plain(line) })));
    } else if (run.kind === "removed" && following?.kind === "added") {
      rows.push(...pairedRows(run.items, following.items));
      at += 1;
    } else {
      rows.push(...pairedRows(run.kind === "removed" ? run.items : [], run.kind === "added" ? run.items : []));
    }
  }
  return rows;
}

function pairedRows(removed: readonly string[], added: readonly string[]): DifferenceRow[] {
  return Array.from({ length: Math.max(removed.length, added.length) }, (_, line): DifferenceRow => {
    const before = removed[line];
    const after = added[line];
    if (before === undefined) return { kind: "added", before: null, after: plain(after ?? "") };
    if (after === undefined) return { kind: "removed", before: plain(before), after: null };
    return { kind: "changed", ...markedWords(before, after) };
  });
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

/** What of two lists is the same, removed and added, by the shortest script of Myers (1986). */
export function compare(before: readonly string[], after: readonly string[]): Run[] {
  let start = 0;
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1;
  let end = 0;
  const shorter = Math.min(before.length, after.length) - start;
  while (end < shorter && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1;
  const removed = before.slice(start, before.length - end);
  const added = after.slice(start, after.length - end);
  return joined([
    { kind: "same", items: before.slice(0, start) },
    ...shortestScript(removed, added),
    { kind: "same", items: before.slice(before.length - end) },
  ]);
}

function shortestScript(before: readonly string[], after: readonly string[]): Run[] {
  const most = Math.min(before.length + after.length, MOST_STEPS);
  const furthest = new Map<number, number>([[1, 0]]);
  const trace: Map<number, number>[] = [];
  for (let steps = 0; steps <= most; steps += 1) {
    trace.push(new Map(furthest));
    for (let diagonal = -steps; diagonal <= steps; diagonal += 2) {
      let x = nextX(furthest, diagonal, steps);
      while (x < before.length && x - diagonal < after.length && before[x] === after[x - diagonal]) x += 1;
      furthest.set(diagonal, x);
      if (x >= before.length && x - diagonal >= after.length) return backtrack(before, after, trace);
    }
  }
  return [
    { kind: "removed", items: before },
    { kind: "added", items: after },
  ];
}

function nextX(furthest: ReadonlyMap<number, number>, diagonal: number, steps: number): number {
  if (goesDown(furthest, diagonal, steps)) return furthest.get(diagonal + 1) ?? 0;
  return (furthest.get(diagonal - 1) ?? 0) + 1;
}

function goesDown(furthest: ReadonlyMap<number, number>, diagonal: number, steps: number): boolean {
  if (diagonal === -steps) return true;
  return diagonal !== steps && (furthest.get(diagonal - 1) ?? -1) < (furthest.get(diagonal + 1) ?? -1);
}

function backtrack(before: readonly string[], after: readonly string[], trace: readonly Map<number, number>[]): Run[] {
  const runs: Run[] = [];
  let x = before.length;
  let y = after.length;
  for (let steps = trace.length - 1; steps >= 0; steps -= 1) {
    const furthest = trace[steps] as Map<number, number>;
    const diagonal = x - y;
    // The diagonal begins behind the step that led to it, which went down for an addition and right for a removal.
    const startX = steps === 0 ? 0 : nextX(furthest, diagonal, steps);
    const startY = startX - diagonal;
    if (x > startX) runs.push({ kind: "same", items: before.slice(startX, x) });
    x = startX;
    y = startY;
    if (steps === 0) break;
    if (goesDown(furthest, diagonal, steps)) {
      y -= 1;
      runs.push({ kind: "added", items: after.slice(y, y + 1) });
    } else {
      x -= 1;
      runs.push({ kind: "removed", items: before.slice(x, x + 1) });
    }
  }
  return runs.reverse();
}

// Joins neighbours of one kind; between two that are the same, what was removed stands before what was added.
function joined(runs: readonly Run[]): Run[] {
  const result: Run[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  const flush = () => {
    if (removed.length > 0) result.push({ kind: "removed", items: removed });
    if (added.length > 0) result.push({ kind: "added", items: added });
    removed = [];
    added = [];
  };
  for (const { kind, items } of runs) {
    if (items.length === 0) continue;
    if (kind === "removed") removed.push(...items);
    else if (kind === "added") added.push(...items);
    else {
      const isNew = removed.length > 0 || added.length > 0;
      flush();
      const last = result.at(-1);
      if (!isNew && last?.kind === "same") result[result.length - 1] = { kind, items: [...last.items, ...items] };
      else result.push({ kind, items });
    }
  }
  flush();
  return result;
}
