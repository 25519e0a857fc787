/** A run of text that both sides have, or only one. */
export interface Run {
  readonly kind: "same" | "removed" | "added";
  readonly items: readonly string[];
}

// Beyond so many steps the rest counts as replaced as a whole.
const MOST_STEPS = 1500;

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
