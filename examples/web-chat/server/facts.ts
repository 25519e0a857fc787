/** The lines of the memory block, without the signs that a list begins them with. */
export function factsIn(content: string): string[] {
  return content
    .split("\n")
    .map((line) => line.replace(/^\s*(?:[-*•]\s+)?/u, "").trim())
    .filter((line) => line !== "");
}
