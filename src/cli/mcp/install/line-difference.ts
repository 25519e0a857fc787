import { structuredPatch } from "diff/lib/patch/create.js";

const CONTEXT = 2;
/** Lines that may differ: what it takes to find them grows with their square. */
const MOST_CHANGED = 1000;

/** What changes from one text to another, line by line: `-` and `+` before what goes and comes, with two lines around it. */
export function lineDifference(before: string, after: string): string[] {
  const options = { context: CONTEXT, stripTrailingCr: true, maxEditLength: MOST_CHANGED };
  const patch = structuredPatch("", "", ended(before), ended(after), "", "", options);
  if (patch === undefined) return ["  (more than can be shown)"];
  return patch.hunks.flatMap(({ lines }) => lines.map((line) => `${line.slice(0, 1)} ${line.slice(1)}`));
}

// How the last line ends does not count.
function ended(text: string): string {
  return text === "" ? "" : text.replace(/\r?\n?$/, "\n");
}
