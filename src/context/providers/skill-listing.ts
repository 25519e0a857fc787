/** One document of a listing. */
export interface ListedSkill {
  readonly key: string;
  readonly description?: string | undefined;
}

/** The listing that the prompt shows: `- key: description`, one line each, by key; null when there is none. */
export function skillListing(skills: readonly ListedSkill[]): string | null {
  if (skills.length === 0) return null;
  return [...skills]
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ key, description }) => {
      const line = description?.replace(/\s+/gu, " ").trim();
      return line ? `- ${key}: ${line}` : `- ${key}`;
    })
    .join("\n");
}
