import { StemmaError } from "@stemma/model";
import type { ImportedTree } from "../../contract/store.js";
import type { Dialect, EncodedTree } from "../../engine/dialect.js";
import { type Operation, pause, run } from "../../engine/operation.js";
import { assertTimes } from "../assert-storable.js";
import { addCompaction, findCompaction } from "../compactions/compactions.js";
import { writeSkills } from "../memory/skill-state.js";
import { openSessionHead } from "../registry/session-head.js";
import { createSession, getSession, readSession } from "../registry/sessions.js";
import { importUsage } from "../registry/usage.js";
import { importMessages, setActiveLeaf } from "./messages.js";

/** The operation behind `SessionStore.importTree`. */
export function* importTree(sql: Dialect, sessionId: string, tree: EncodedTree): Operation<{ inserted: number }> {
  for (const { storedAt } of tree.messages) {
    if (storedAt === undefined) continue;
    assertTimes("A message's", { storedAt });
    yield* pause();
  }
  if (tree.session !== undefined && (yield* readSession(sql, sessionId)) === null) {
    yield* createSession(sql, { ...tree.session, id: sessionId });
  }
  const inserted = yield* sql.native === undefined
    ? importMessages(sql, sessionId, tree.messages)
    : sql.native.importMessages(sql, sessionId, tree.messages);
  if (tree.onlyNew === true && inserted < tree.messages.length) {
    const message =
      "A message of the session is already stored: load the session, and save it again with what is yours.";
    throw new StemmaError("SESSION_CONFLICT", { sessionId }, message);
  }
  if (inserted > 0) yield* dateMessages(sessionId, tree.messages);
  for (const compaction of tree.compactions ?? []) {
    if ((yield* findCompaction(sessionId, compaction.id)) === null) yield* addCompaction(sql, sessionId, compaction);
  }
  if (tree.activeLeafId !== undefined) yield* setActiveLeaf(sql, sessionId, tree.activeLeafId);
  if (tree.skills !== undefined) yield* writeSkills((yield* openSessionHead(sql, sessionId)).rows, tree.skills);
  if (tree.usage !== undefined) yield* importFirstUsage(sql, sessionId, tree.usage);
  return { inserted };
}

// A session that counts already was imported before, or has gone on since.
function* importFirstUsage(
  sql: Dialect,
  sessionId: string,
  usage: NonNullable<ImportedTree["usage"]>,
): Operation<void> {
  const { input_tokens, output_tokens, estimated_cost } = yield* getSession(sql, sessionId);
  if (input_tokens !== 0 || output_tokens !== 0 || estimated_cost !== 0) return;
  yield* importUsage(sql, sessionId, usage);
}

// How many messages are dated by one statement: engines bind at least a hundred values.
const DATED_AT_ONCE = 30;

function* dateMessages(sessionId: string, messages: EncodedTree["messages"]): Operation<void> {
  const dated = messages.filter(({ storedAt }) => storedAt !== undefined);
  for (let start = 0; start < dated.length; start += DATED_AT_ONCE) {
    const some = dated.slice(start, start + DATED_AT_ONCE);
    const ids = some.map(({ message }) => message.id);
    const update = `UPDATE assistant_messages SET created_at = CASE ${some.map(() => "WHEN id = ? THEN ?").join(" ")} ELSE created_at END
       WHERE session_id = ? AND id IN (${some.map(() => "?").join(", ")})`;
    yield* run(update, ...some.flatMap(({ message, storedAt }) => [message.id, storedAt as string]), sessionId, ...ids);
  }
}
