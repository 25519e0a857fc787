import type { ListedEntry } from "../contract/store.js";

/** True for an entry that holds, and of which no end is known. What has a value is a program's, and what expires says so for itself. */
export function isOpen({ validFrom, ends, expiresAt, value }: ListedEntry): boolean {
  const holds = ends.length === 0 && (validFrom === null || validFrom <= new Date().toISOString());
  return holds && expiresAt === null && value === undefined;
}
