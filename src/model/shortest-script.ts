import { diffArrays } from "diff/lib/diff/array.js";

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
  const runs: Run[] = [
    { kind: "same", items: before.slice(0, start) },
    ...changed(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    { kind: "same", items: before.slice(before.length - end) },
  ];
  return runs.filter(({ items }) => items.length > 0);
}

// Between two runs that are the same, what was removed stands before what was added.
function changed(before: string[], after: string[]): Run[] {
  const changes = diffArrays(before, after, { maxEditLength: MOST_STEPS });
  if (changes === undefined) return replacement(before, after);
  const runs: Run[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  for (const change of changes) {
    if (change.removed) removed = removed.concat(change.value);
    else if (change.added) added = added.concat(change.value);
    else {
      runs.push(...replacement(removed, added), { kind: "same", items: change.value });
      removed = [];
      added = [];
    }
  }
  return [...runs, ...replacement(removed, added)];
}

function replacement(removed: readonly string[], added: readonly string[]): Run[] {
  return [
    { kind: "removed", items: removed },
    { kind: "added", items: added },
  ];
}
