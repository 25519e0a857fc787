import { statSync } from "node:fs";
import { invalid } from "../../errors.js";

/**
 * The folder of skills of the chat: that of the option, else of `STEMMA_SKILLS`, else `skills` where that is there; null for
 * none. Errors: `INVALID_ARGUMENT` for a folder that is named and not there.
 */
export function skillsFolder(option: string | undefined): string | null {
  const named = option ?? (process.env.STEMMA_SKILLS || null);
  if (named === null) return isFolder("skills") ? "skills" : null;
  if (isFolder(named)) return named;
  const message = `There is no folder "${named}" of skills: name another one with --skills or STEMMA_SKILLS, or leave it out.`;
  throw invalid(message, { skills: named });
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
