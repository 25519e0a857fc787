import { isStoredMetadata } from "../../model/session-metadata.js";
import { isStorableText } from "../../model/storable-text.js";
import { sessionOf } from "../operations/row-id.js";
import type { SessionRow } from "../operations/session-head.js";
import type { ListedSession } from "../operations/session-info.js";
import { parseSkills } from "../operations/skill-state.js";
import { isReserved } from "../session-id.js";
import { type Findings, isText, isTextOrNull, isTime, isWhole } from "./findings.js";

/** A row of `assistant_sessions`. */
export interface RegisteredSession extends ListedSession, SessionRow {
  readonly changes: number;
  readonly appended_until: string | null;
  readonly counted_to: number | null;
  readonly counted: number | null;
  readonly counted_all: number | null;
}

/** What is wrong with the fields of a registry row, by their columns. */
export function faultsOf(session: RegisteredSession): string[] {
  const { no: sessionNumber, leaf, stale, skills } = session;
  const isOwn = (rowId: number) => Number.isSafeInteger(rowId) && sessionOf(rowId) === sessionNumber;
  const rules: Record<string, boolean> = {
    id: isText(session.id),
    name: isText(session.name),
    parent_session_id: isTextOrNull(session.parent_session_id),
    model: isTextOrNull(session.model),
    source: isTextOrNull(session.source),
    end_reason: isTextOrNull(session.end_reason),
    user_id: isTextOrNull(session.user_id),
    metadata: isStoredMetadata(session.metadata),
    input_tokens: Number.isFinite(session.input_tokens),
    output_tokens: Number.isFinite(session.output_tokens),
    estimated_cost: Number.isFinite(session.estimated_cost),
    created_at: isTime(session.created_at),
    updated_at: isTime(session.updated_at),
    leaf: leaf === null || leaf === 0 || isOwn(leaf),
    changes: isWhole(Number(session.changes)),
    stale: stale === null || isOwn(stale),
    appended_until: session.appended_until === null || isTime(session.appended_until),
    counted_to: session.counted_to === null || isOwn(session.counted_to),
    counted: session.counted === null || isWhole(session.counted),
    counted_all: session.counted_all === null || isWhole(session.counted_all),
    skills: skills === null || (isText(skills) && parseSkills(skills) !== null),
  };
  return Object.keys(rules).filter((column) => !rules[column]);
}

/** Holds a session's row of the registry against the rules. */
export function checkRegistryRow(session: RegisteredSession, found: Findings): void {
  for (const column of faultsOf(session)) {
    found.add("session", "assistant_sessions", session.id, null, `The column ${column} holds what it never should.`);
  }
  if (!isText(session.id) || (!isReserved(session.id) && isStorableText(session.id))) return;
  const message =
    "No call takes its id: it is reserved, or holds NUL. Give it another one, in every table that names it.";
  found.add("session", "assistant_sessions", session.id, null, message);
}
