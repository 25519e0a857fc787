import { StemmaError } from "../../errors.js";
import type { EncodedMessage } from "../../model/codec.js";
import type { SkillState } from "../../model/skills.js";
import type { NewSession, SessionInfo } from "../contract.js";
import type { Dialect } from "./dialect.js";
import { copyEntries } from "./entries.js";
import { skillsOf } from "./history.js";
import { indexSession } from "./index-rows.js";
import { appendMessages } from "./messages.js";
import { all, type Operation, run } from "./operation.js";
import { findSegments, readRanges, type Segment } from "./path.js";
import { ceilingOf, floorOf } from "./position.js";
import { findNamed, findTip, isoNow, messageNotFound, type Place, type Tip } from "./session-row.js";
import { createSession, getSession, readSession } from "./sessions.js";

/** See `SessionStore.fork`. */
export function* forkSession(sql: Dialect, id: string, atMessageId: string, fork: NewSession): Operation<SessionInfo> {
  const source = yield* getSession(id);
  const from = (yield* findTip(id)) as Tip;
  const at = (yield* findNamed(id, atMessageId)) ?? messageNotFound(id, atMessageId);
  const info = yield* continueSession(source, fork);
  const to = (yield* findTip(fork.id)) as Tip;
  yield* copyPath(sql, from, at, to.no, fork.id);
  yield* copyBlocks(sql, id, fork.id);
  return info;
}

/** See `SessionStore.split`. */
export function* splitSession(
  sql: Dialect,
  id: string,
  opening: EncodedMessage,
  continuation: NewSession,
): Operation<SessionInfo> {
  const source = yield* getSession(id);
  yield* run("UPDATE assistant_sessions SET end_reason = ?, updated_at = ? WHERE id = ?", "compaction", isoNow(), id);
  yield* continueSession(source, continuation);
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
  });
}

// Copies a path as one branch of session `no`, with what stands outside its rows and the overlays that lie on it.
function* copyPath(sql: Dialect, from: Tip, at: Place, no: number, sessionId: string): Operation<void> {
  const segments = yield* findSegments(from.no, at);
  const path = JSON.stringify(segments.map(({ branch, lo, hi }) => [branch, lo, hi]));
  const base = floorOf(no);
  const text = sql.keepsText ? ", text_content" : "";
  const rows = `
    SELECT m.*, row_number() OVER (ORDER BY m.n) AS position
    FROM ${sql.segmentTable} AS s CROSS JOIN assistant_messages m WHERE m.n BETWEEN s.lo AND s.hi AND m.branch = s.branch`;
  yield* run(
    `INSERT INTO assistant_messages
       (n, id, session_id, parent_id, role, created_at, branch, tokens, total, dated_at, content${text})
     SELECT ? + position, id, ?, parent_id, role, created_at, 0, tokens, CASE WHEN n > ? THEN total END, dated_at, content${text}
     FROM (${rows}) AS path ORDER BY position`,
    base,
    sessionId,
    from.stale ?? 0,
    path,
  );
  // Contents name their keys, so these stay what they are.
  yield* run(
    `INSERT INTO assistant_media_refs (no, n, hash) SELECT ?, ? + p.position, r.hash
     FROM (${rows}) AS p JOIN assistant_media_refs r ON r.no = ? AND r.n = p.n`,
    no,
    base,
    path,
    from.no,
  );
  yield* run(
    `INSERT INTO assistant_media (no, hash, part, data)
     SELECT ?, d.hash, d.part, d.data FROM assistant_media d
     WHERE d.no = ? AND d.hash IN (SELECT hash FROM assistant_media_refs WHERE no = ?)`,
    no,
    from.no,
    no,
  );
  yield* copyOverlays(from.no, segments, no, sessionId);
  // A row under an overlay must not take its running total on: an edit of it does not change what is visible.
  yield* run(
    `UPDATE assistant_sessions SET stale = (SELECT max(c.to_n) FROM assistant_compactions c WHERE c.n BETWEEN ? AND ?)
     WHERE no = ?`,
    base,
    ceilingOf(no),
    no,
  );
  yield* copySkills(sql, from, segments, no);
  if (sql.search?.copy !== undefined) yield* sql.search.copy(rows, path, base);
  else if (sql.search !== null) yield* indexSession(sql.search, no);
}

function* copyOverlays(source: number, segments: readonly Segment[], no: number, sessionId: string): Operation<void> {
  const overlays = yield* all<{ n: number; to_n: number; branch: number }>(
    `SELECT c.n AS n, c.to_n AS to_n, m.branch AS branch FROM assistant_compactions c
     JOIN assistant_messages m ON m.n = c.to_n WHERE c.n BETWEEN ? AND ? ORDER BY c.n`,
    floorOf(source),
    ceilingOf(source),
  );
  let position = floorOf(no);
  for (const { n, to_n, branch } of overlays) {
    if (!segments.some((segment) => segment.branch === branch && segment.lo <= to_n && to_n <= segment.hi)) continue;
    position += 1;
    yield* run(
      `INSERT INTO assistant_compactions
         (n, id, session_id, summary, from_message_id, to_message_id, created_at, tokens, from_n, to_n)
       SELECT ?, id, ?, summary, from_message_id, to_message_id, created_at, tokens,
              (SELECT m.n FROM assistant_messages m WHERE m.session_id = ? AND m.id = from_message_id),
              (SELECT m.n FROM assistant_messages m WHERE m.session_id = ? AND m.id = to_message_id)
       FROM assistant_compactions WHERE n = ?`,
      position,
      sessionId,
      sessionId,
      sessionId,
      n,
    );
  }
}

// An unload reaches as far on the copied path as it did on the original.
function* copySkills(sql: Dialect, from: Tip, segments: readonly Segment[], no: number): Operation<void> {
  if (from.skills === null) return;
  const state = skillsOf(from);
  const unloaded: SkillState["unloaded"][number][] = [];
  for (const skill of state.unloaded) {
    const before = segments
      .filter(({ lo }) => lo <= skill.through)
      .map((segment) => ({ ...segment, hi: Math.min(segment.hi, skill.through) }));
    const rows = yield* readRanges(sql, "n", before);
    unloaded.push({ ...skill, through: floorOf(no) + rows.length });
  }
  const copied: SkillState = { loaded: state.loaded, unloaded };
  yield* run("UPDATE assistant_sessions SET skills = ? WHERE no = ?", JSON.stringify(copied), no);
}

function* copyBlocks(sql: Dialect, from: string, to: string): Operation<void> {
  yield* run(
    `INSERT INTO cf_agents_context_blocks (session_id, kind, label, content, version, updated_at)
     SELECT ?, kind, label, content, version, updated_at FROM cf_agents_context_blocks WHERE session_id = ?`,
    to,
    from,
  );
  yield* copyEntries(sql, from, to);
}
