import { invalid } from "@stemma/model";

/** The names in the braces of a path. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** The ids of a path by the names in its braces. */
export type PathIds<Path extends string> = Readonly<Record<NamesIn<Path>, string>>;

/** Throws `INVALID_ARGUMENT` for an address that is not percent-encoded UTF-8: it would be taken for what it is not. */
export function assertEncoded({ url }: Request): void {
  try {
    const { pathname, search } = new URL(url);
    decodeURIComponent(pathname + search);
  } catch (cause) {
    throw invalid("The address is not UTF-8 that is percent-encoded.", {}, { cause });
  }
}

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
