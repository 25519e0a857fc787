import { NO_SKILLS, type SkillState } from "../../model/skills.js";
import type { CorruptHandler } from "../engine/dialect.js";
import { damaged, reportDamage } from "./damage.js";
import type { SessionRow } from "./session-head.js";

/** The skill state that a session's row holds. Errors: `CORRUPT_MESSAGE`; with `onCorrupt` it is told, and none is given. */
export function skillsOf(row: Pick<SessionRow, "sessionNumber" | "skills">, onCorrupt?: CorruptHandler): SkillState {
  if (row.skills === null) return NO_SKILLS;
  const state = parseSkills(row.skills);
  if (state !== null) return state;
  const why = "Which skills the session loaded cannot be read.";
  reportDamage(onCorrupt, "", damaged({ sessionNumber: row.sessionNumber }, why));
  return NO_SKILLS;
}

/** The skill state of its JSON, or null for what is none. */
export function parseSkills(json: unknown): SkillState | null {
  try {
    const state = JSON.parse(String(json)) as SkillState;
    const all = [...state.loaded, ...state.unloaded];
    const isState = all.every(
      ({ label, key, toolCallIds }) =>
        typeof label === "string" && typeof key === "string" && Array.isArray(toolCallIds),
    );
    return isState && state.unloaded.every(({ through }) => typeof through === "number") ? state : null;
  } catch {
    return null;
  }
}
