import { applySkillChange, type SkillChange, type SkillState } from "@stemma/model";
import type { Dialect } from "../../engine/dialect.js";
import { type Operation, run, type SessionRows } from "../../engine/operation.js";
import { findSessionHead, isoNow, openSessionHead, skillsOf } from "../registry/session-head.js";

/** Answers `SessionStore.skills`. */
export function* readSkills(sql: Dialect, id: string): Operation<SkillState> {
  const head = yield* findSessionHead(sql, id);
  return skillsOf(head ?? { sessionNumber: 0, skills: null });
}

/** Answers `SessionStore.changeSkills`. */
export function* changeSkills(sql: Dialect, id: string, change: SkillChange): Operation<boolean> {
  const head = yield* openSessionHead(sql, id);
  const state = applySkillChange(skillsOf(head), change, head.newest?.rowId ?? 0);
  if (state === null) return false;
  yield* writeSkills(head.rows, state);
  return true;
}

/** Notes which skills a session has loaded and unloaded. */
export function* writeSkills(rows: SessionRows, state: SkillState): Operation<void> {
  const update = "UPDATE assistant_sessions SET skills = ?, updated_at = ?, changes = changes + 1";
  yield* run(...rows.whereRegistered(update, JSON.stringify(state), isoNow()));
}
