import { applySkillChange, NO_SKILLS, type SkillChange, type SkillState } from "@stemma/model";
import type { CorruptHandler, Dialect } from "../../engine/dialect.js";
import type { SessionRows } from "../../engine/operation.js";
import { type Operation, run } from "../../engine/operation.js";
import { damaged, reportDamage } from "../messages/damage.js";
import { findSessionHead, isoNow, openSessionHead, type SessionRow } from "../registry/session-head.js";

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

/** See `SessionStore.skills`. */
export function* readSkills(sql: Dialect, id: string): Operation<SkillState> {
  const head = yield* findSessionHead(sql, id);
  return skillsOf(head ?? { sessionNumber: 0, skills: null });
}

/** See `SessionStore.changeSkills`. */
export function* changeSkills(sql: Dialect, id: string, change: SkillChange): Operation<boolean> {
  const head = yield* openSessionHead(sql, id);
  const state = applySkillChange(skillsOf(head), change, head.newest?.rowId ?? 0);
  if (state === null) return false;
  yield* writeSkills(head.rows, state);
  return true;
}

/** Notes which skills a session has loaded and unloaded. */
export function* writeSkills(rows: SessionRows, state: SkillState): Operation<void> {
  const update = `UPDATE assistant_sessions SET skills = ?, updated_at = ?, changes = changes + 1 WHERE ${rows.registered}no = ?`;
  yield* run(update, JSON.stringify(state), isoNow(), ...[...rows.ids, rows.sessionNumber]);
}
