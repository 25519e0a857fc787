import type { EncodedMessage, SkillState } from "@stemma/model";
import { invalid } from "@stemma/model";
import { type Continuation, LEARNING, type NewSession, type SessionInfo } from "../../contract/store.js";
import type { Dialect } from "../../engine/dialect.js";
import { type Operation, OR_KEEP, ownOf, run, type SessionRows } from "../../engine/operation.js";
import { copyEntries } from "../memory/entry-rows.js";
import { copyRecord } from "../memory/records.js";
import { copyVersions } from "../memory/versions.js";
import { appendMessages } from "../messages/messages.js";
import { adoptBlocks } from "../messages/upgraded-rows.js";
import { findSegments, inRanges, type Segment } from "../path/path.js";
import { inPortions } from "../row-portions.js";
import { indexSession } from "../search/index-rows.js";
import {
  ceilingOf,
  findNamed,
  findSessionHead,
  floorOf,
  isoNow,
  type MessagePosition,
  messageNotFound,
  type SessionHead,
  skillsOf,
} from "./session-head.js";
import { createSession, getSession, readSession } from "./sessions.js";

/** The operation behind `SessionStore.fork`. */
export function* forkSession(
  sql: Dialect,
  id: string,
  atMessageId: string,
  fork: NewSession,
  userId?: string,
): Operation<SessionInfo> {
  const source = yield* getSession(sql, id, userId);
  const from = (yield* findSessionHead(sql, id)) as SessionHead;
  const at = (yield* findNamed(sql, id, atMessageId)) ?? messageNotFound(id, atMessageId);
  const info = yield* continueSession(sql, source, fork);
  const to = (yield* findSessionHead(sql, fork.id)) as SessionHead;
  yield* copyPath(sql, from, at, to.rows);
  yield* copyBlocks(sql, id, fork.id);
  yield* copyRecord({ sessionId: id, label: LEARNING }, "state", fork.id);
  return info;
}

/** The operation behind `SessionStore.split`. */
export function* splitSession(
  sql: Dialect,
  id: string,
  opening: EncodedMessage,
  continuation: Continuation,
  userId?: string,
): Operation<SessionInfo> {
  const source = yield* getSession(sql, id, userId);
  yield* run(
    "UPDATE assistant_sessions SET end_reason = ?, updated_at = ?, changes = changes + 1 WHERE id = ?",
    "compaction",
    isoNow(),
    id,
  );
  yield* continueSession(sql, source, { ...continuation, name: continuation.name ?? source.name });
  yield* appendMessages(sql, continuation.id, [opening], null);
  yield* copyBlocks(sql, id, continuation.id);
  return yield* getSession(sql, continuation.id);
}

function* continueSession(sql: Dialect, source: SessionInfo, next: NewSession): Operation<SessionInfo> {
  if ((yield* readSession(sql, next.id)) !== null) {
    const message = `Session "${next.id}" exists already: give the new one another id, or none.`;
    throw invalid(message, { sessionId: next.id });
  }
  return yield* createSession(sql, {
    ...next,
    parentSessionId: source.id,
    model: next.model ?? source.model ?? undefined,
    source: next.source ?? source.source ?? undefined,
    userId: source.user_id ?? undefined,
    metadata: source.metadata,
  });
}

// Copies a path as one branch of another session, with what stands outside its rows and the compactions that lie on it. A message
// keeps its number within the session, so that every row id moves by the same distance.
function* copyPath(sql: Dialect, from: SessionHead, at: MessagePosition, to: SessionRows): Operation<void> {
  const source = from.rows;
  const segments = yield* findSegments(source, at);
  const path = jsonOf(segments);
  const shift = floorOf(to.sessionNumber) - floorOf(source.sessionNumber);
  const text = sql.layout !== "local" ? ", text_content" : "";
  // What is copied further is found by the source's rows alone. Contents name their keys, so these stay what they are.
  const branchOf = (row: string) =>
    `(SELECT m.branch FROM assistant_messages m WHERE ${ownOf(source, "m")}m.n = ${row})`;
  const onPath = (row: string) => `EXISTS (
       SELECT 1 FROM ${sql.segmentTable} AS s WHERE ${row} BETWEEN s.lo AND s.hi AND ${branchOf(row)} = s.branch)`;
  const refs = `FROM assistant_media_refs r WHERE ${ownOf(source, "r")}r.no = ? AND r.n BETWEEN ? AND ? AND ${onPath("r.n")}`;
  yield* inPortions(sql, segments, function* (portion) {
    const some = jsonOf(portion);
    yield* run(
      `INSERT INTO assistant_messages
         (n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content${text})
       SELECT n + ?, id, ?, parent_id, role, created_at, 0, tokens, CASE WHEN n > ? THEN total END, dated_at, content${text}
       FROM ${inRanges(sql)}`,
      ...[shift, to.id, from.stale ?? 0, some],
      ...source.ids,
    );
    const ends = [portion[0].lo, (portion.at(-1) ?? portion[0]).hi];
    const values = [...source.ids, source.sessionNumber, ...ends, some, ...source.ids];
    yield* run(
      `INSERT INTO assistant_media_refs (${to.column}no, n, hash) SELECT ${to.mark}?, r.n + ?, r.hash ${refs}`,
      ...[...to.ids, to.sessionNumber, shift],
      ...values,
    );
    // Rows of several portions may have one content.
    yield* run(
      `INSERT INTO assistant_media (${to.column}no, hash, part, data)
       SELECT ${to.mark}?, d.hash, d.part, d.data FROM assistant_media d
       WHERE ${ownOf(source, "d")}d.no = ? AND d.hash IN (SELECT r.hash ${refs})${OR_KEEP}`,
      ...[...to.ids, to.sessionNumber],
      ...[...source.ids, source.sessionNumber],
      ...values,
    );
  });
  yield* run(
    `INSERT INTO assistant_compactions
       (n, id, session_id, summary, from_message_id, to_message_id, created_at, tokens, covered_tokens, from_n, to_n)
     SELECT c.n + ?, c.id, ?, c.summary, c.from_message_id, c.to_message_id, c.created_at, c.tokens, c.covered_tokens, c.from_n + ?, c.to_n + ?
     FROM assistant_compactions c WHERE ${ownOf(source, "c")}c.n BETWEEN ? AND ?
       AND ${onPath("c.to_n")}`,
    ...[shift, to.id, shift, shift],
    ...[...source.ids, floorOf(source.sessionNumber), ceilingOf(source.sessionNumber)],
    ...[path, ...source.ids],
  );
  // A row under a compaction must not take its running total on: an edit of it does not change what is visible.
  const last = `SELECT max(c.to_n) FROM assistant_compactions c WHERE ${ownOf(to, "c")}c.n BETWEEN ? AND ?`;
  const range = [...to.ids, floorOf(to.sessionNumber), ceilingOf(to.sessionNumber)];
  yield* run(...to.whereRegistered(`UPDATE assistant_sessions SET stale = (${last})`, ...range));
  yield* copySkills(from, at, to, shift);
  const messages = { condition: inRanges(sql), values: [path, ...source.ids] };
  if (sql.search?.copy !== undefined) yield* sql.search.copy(source, to, shift, messages);
  else if (sql.search !== null) yield* indexSession(sql, sql.search, to);
}

const jsonOf = (ranges: readonly Segment[]) => JSON.stringify(ranges.map(({ branch, lo, hi }) => [branch, lo, hi]));

// An unload reaches as far on the copied path as it did on the original, and no further than that goes.
function* copySkills(from: SessionHead, at: MessagePosition, to: SessionRows, shift: number): Operation<void> {
  if (from.skills === null) return;
  const { loaded, unloaded } = skillsOf(from);
  const copied: SkillState = {
    loaded,
    unloaded: unloaded.map((skill) => ({ ...skill, through: Math.min(skill.through, at.rowId) + shift })),
  };
  yield* run(...to.whereRegistered("UPDATE assistant_sessions SET skills = ?", JSON.stringify(copied)));
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
