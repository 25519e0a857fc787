import { StemmaError } from "../../errors.js";
import type { EncodedMessage } from "../../model/codec.js";
import type { SkillState } from "../../model/skills.js";
import { type Continuation, LEARNING, type NewSession, type SessionInfo } from "../contract.js";
import type { Dialect } from "../engine/dialect.js";
import { type Operation, run } from "../engine/operation.js";
import { copyEntries } from "./entries.js";
import { appendMessages } from "./messages.js";
import { findSegments, ON_SEGMENT } from "./path.js";
import { copyRecord } from "./records.js";
import { ceilingOf, floorOf } from "./row-id.js";
import { indexSession } from "./search/index-rows.js";
import {
  findNamed,
  findSessionHead,
  isoNow,
  type MessagePosition,
  messageNotFound,
  type SessionHead,
} from "./session-head.js";
import { createSession, getSession, readSession } from "./sessions.js";
import { skillsOf } from "./skill-state.js";
import { adoptBlocks } from "./upgraded-rows.js";
import { copyVersions } from "./versions.js";

/** See `SessionStore.fork`. */
export function* forkSession(
  sql: Dialect,
  id: string,
  atMessageId: string,
  fork: NewSession,
  userId?: string,
): Operation<SessionInfo> {
  const source = yield* getSession(id, userId);
  const from = (yield* findSessionHead(id)) as SessionHead;
  const at = (yield* findNamed(id, atMessageId)) ?? messageNotFound(id, atMessageId);
  const info = yield* continueSession(source, fork);
  const to = (yield* findSessionHead(fork.id)) as SessionHead;
  yield* copyPath(sql, from, at, to.no, fork.id);
  yield* copyBlocks(sql, id, fork.id);
  yield* copyRecord({ sessionId: id, label: LEARNING }, "state", fork.id);
  return info;
}

/** See `SessionStore.split`. */
export function* splitSession(
  sql: Dialect,
  id: string,
  opening: EncodedMessage,
  continuation: Continuation,
  userId?: string,
): Operation<SessionInfo> {
  const source = yield* getSession(id, userId);
  yield* run(
    "UPDATE assistant_sessions SET end_reason = ?, updated_at = ?, changes = changes + 1 WHERE id = ?",
    "compaction",
    isoNow(),
    id,
  );
  yield* continueSession(source, { ...continuation, name: continuation.name ?? source.name });
  yield* appendMessages(sql, continuation.id, [opening], null);
  yield* copyBlocks(sql, id, continuation.id);
  return yield* getSession(continuation.id);
}

function* continueSession(source: SessionInfo, next: NewSession): Operation<SessionInfo> {
  if ((yield* readSession(next.id)) !== null) {
    const message = `Session "${next.id}" exists already: give the new one another id, or none.`;
    throw new StemmaError("INVALID_ARGUMENT", { sessionId: next.id }, message);
  }
  return yield* createSession({
    ...next,
    parentSessionId: source.id,
    model: next.model ?? source.model ?? undefined,
    source: next.source ?? source.source ?? undefined,
    userId: source.user_id ?? undefined,
    metadata: source.metadata,
  });
}

// Copies a path as one branch of session `no`, with what stands outside its rows and the compactions that lie on it. A message
// keeps its number within the session, so that every row id moves by the same distance.
function* copyPath(
  sql: Dialect,
  from: SessionHead,
  at: MessagePosition,
  sessionNumber: number,
  sessionId: string,
): Operation<void> {
  const segments = yield* findSegments(from.no, at);
  const path = JSON.stringify(segments.map(({ branch, lo, hi }) => [branch, lo, hi]));
  const shift = floorOf(sessionNumber) - floorOf(from.no);
  const text = sql.keepsText ? ", text_content" : "";
  const rows = `${sql.segmentTable} AS s CROSS JOIN assistant_messages m`;
  yield* run(
    `INSERT INTO assistant_messages
       (n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content${text})
     SELECT n + ?, id, ?, parent_id, role, created_at, 0, tokens, CASE WHEN n > ? THEN total END, dated_at, content${text}
     FROM ${rows} WHERE ${ON_SEGMENT}`,
    shift,
    sessionId,
    from.stale ?? 0,
    path,
  );
  // Contents name their keys, so these stay what they are.
  yield* run(
    `INSERT INTO assistant_media_refs (no, n, hash) SELECT ?, r.n + ?, r.hash
     FROM assistant_media_refs r JOIN assistant_messages m ON m.n = r.n + ? WHERE r.no = ?`,
    sessionNumber,
    shift,
    shift,
    from.no,
  );
  yield* run(
    `INSERT INTO assistant_media (no, hash, part, data)
     SELECT ?, d.hash, d.part, d.data FROM assistant_media d
     WHERE d.no = ? AND d.hash IN (SELECT hash FROM assistant_media_refs WHERE no = ?)`,
    sessionNumber,
    from.no,
    sessionNumber,
  );
  yield* run(
    `INSERT INTO assistant_compactions
       (n, id, session_id, summary, from_message_id, to_message_id, created_at, tokens, covered_tokens, from_n, to_n)
     SELECT c.n + ?, c.id, ?, c.summary, c.from_message_id, c.to_message_id, c.created_at, c.tokens, c.covered_tokens, c.from_n + ?, c.to_n + ?
     FROM assistant_compactions c JOIN assistant_messages m ON m.n = c.to_n + ? WHERE c.n BETWEEN ? AND ?`,
    shift,
    sessionId,
    shift,
    shift,
    shift,
    floorOf(from.no),
    ceilingOf(from.no),
  );
  // A row under a compaction must not take its running total on: an edit of it does not change what is visible.
  yield* run(
    `UPDATE assistant_sessions SET stale = (SELECT max(c.to_n) FROM assistant_compactions c WHERE c.n BETWEEN ? AND ?)
     WHERE no = ?`,
    floorOf(sessionNumber),
    ceilingOf(sessionNumber),
    sessionNumber,
  );
  yield* copySkills(from, at, sessionNumber, shift);
  if (sql.search?.copy !== undefined) yield* sql.search.copy(floorOf(sessionNumber), ceilingOf(sessionNumber), shift);
  else if (sql.search !== null) yield* indexSession(sql.search, sessionNumber);
}

// An unload reaches as far on the copied path as it did on the original, and no further than that goes.
function* copySkills(from: SessionHead, at: MessagePosition, sessionNumber: number, shift: number): Operation<void> {
  if (from.skills === null) return;
  const { loaded, unloaded } = skillsOf(from);
  const copied: SkillState = {
    loaded,
    unloaded: unloaded.map((skill) => ({ ...skill, through: Math.min(skill.through, at.n) + shift })),
  };
  yield* run("UPDATE assistant_sessions SET skills = ? WHERE no = ?", JSON.stringify(copied), sessionNumber);
}

function* copyBlocks(sql: Dialect, from: string, to: string): Operation<void> {
  yield* adoptBlocks(from);
  yield* run(
    `INSERT INTO cf_agents_context_blocks (session_id, kind, label, content, version, updated_at)
     SELECT ?, kind, label, content, version, updated_at FROM cf_agents_context_blocks WHERE session_id = ?`,
    to,
    from,
  );
  yield* copyEntries(sql, from, to);
  yield* copyVersions(from, to);
}
