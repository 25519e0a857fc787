/** Several rankings as one: the first of each, then the second of each, and so on. */
export function byTurns<T>(rankings: readonly (readonly T[])[]): T[] {
  const longest = Math.max(0, ...rankings.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => rankings.flatMap((each) => each.slice(place, place + 1))).flat();
}
