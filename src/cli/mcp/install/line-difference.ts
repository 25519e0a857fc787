const CONTEXT = 2;

/** What changes from one text to another, line by line: `-` and `+` before what goes and comes, with two lines around it. */
export function lineDifference(before: string, after: string): string[] {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  let same = 0;
  while (same < old.length && same < fresh.length && old[same] === fresh[same]) same += 1;
  let tail = 0;
  const longest = Math.min(old.length, fresh.length) - same;
  while (tail < longest && old.at(-1 - tail) === fresh.at(-1 - tail)) tail += 1;
  return [
    ...old.slice(Math.max(0, same - CONTEXT), same).map((line) => `  ${line}`),
    ...old.slice(same, old.length - tail).map((line) => `- ${line}`),
    ...fresh.slice(same, fresh.length - tail).map((line) => `+ ${line}`),
    ...fresh
      .slice(fresh.length - tail)
      .slice(0, CONTEXT)
      .map((line) => `  ${line}`),
  ];
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\r?\n$/, "").split(/\r?\n/);
}
