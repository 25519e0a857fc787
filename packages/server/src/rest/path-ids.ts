/** The names in the braces of a path. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The ids of a path by the names in its braces. */
export type PathIds<Path extends string> = Readonly<Record<NamesIn<Path>, string>>;

/**
 * Reads the ids of a path. A segment cannot be empty, and URLs take `.` and `..` away: such an id has a `~` before it, and so has
 * one that begins with `~` itself.
 */
export function readIds<Path extends string>(path: Path, segments: Readonly<Record<string, string>>): PathIds<Path> {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name);
  const ids = names.map((name) => [name, readId(segments[name] ?? "")] as const);
  return Object.fromEntries(ids) as PathIds<Path>;
}

function readId(segment: string): string {
  return segment.startsWith("~") ? segment.slice(1) : segment;
}
