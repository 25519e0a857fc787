/** The lines of the memory block, without the signs that a list begins them with. */
export function factsIn(content: string): string[] {
  return content
    .split("\n")
    .map((line) => line.replace(/^\s*(?:[-*•]\s+)?/u, "").trim())
    .filter((line) => line !== "");
}

/** The write that brought a fact, of versions with the newest first; null when it is older than those that are kept. */
export function firstVersionWith<Version extends { readonly version: number; readonly content: string | null }>(
  fact: string,
  versions: readonly Version[],
): Version | null {
  const without = versions.findIndex(({ content }) => !factsIn(content ?? "").includes(fact));
  const first = without === -1 ? versions.at(-1) : versions[without - 1];
  if (first === undefined || (without === -1 && first.version > 1)) return null;
  return first;
}
