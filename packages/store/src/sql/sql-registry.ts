import type { NewSession, SessionRegistry } from "../contract/store.js";
import type { Dialect } from "../engine/dialect.js";
import type { Operation } from "../engine/operation.js";
import type { CallOrder, Runner } from "../engine/runner.js";
import { sumCompactions } from "../operations/compactions/compactions.js";
import { listUnregistered } from "../operations/memory/memory-lists.js";
import { claimSessions } from "../operations/registry/claim.js";
import { deleteSession } from "../operations/registry/erase.js";
import * as fork from "../operations/registry/fork.js";
import { listDue, listSessions, markLearned } from "../operations/registry/list-sessions.js";
import { owned } from "../operations/registry/owners.js";
import { pruneSession } from "../operations/registry/prune.js";
import * as sessions from "../operations/registry/sessions.js";
import { addUsage, importUsage, readUsage, readUsageRows } from "../operations/registry/usage.js";
import { assertSessionTexts, userScope } from "./session-id.js";
import { confined } from "./sql-calls.js";
import { encodeFor } from "./sql-session.js";

/** The registry of a SQL store, for a user where there is one. */
export function sqlRegistry(
  { runner, callOrder, sql }: { readonly runner: Runner; readonly callOrder: CallOrder; readonly sql: Dialect },
  userId: string | undefined,
): SessionRegistry {
  const write = <T>(ids: readonly string[], operation: () => Operation<T>): Promise<T> =>
    callOrder.hold({ write: ids }, () =>
      runner.write(function* () {
        if (sql.lockSession !== null) yield* sql.lockSession(ids[0] as string);
        return yield* operation();
      }),
    );
  const single = <T>(operation: () => Operation<T>): Promise<T> => callOrder.hold({}, () => runner.single(operation));
  const ownedBy = (session: NewSession): NewSession => {
    assertSessionTexts(session);
    if (userId === undefined) return session;
    if (session.userId !== undefined && session.userId !== userId) throw owned(session.id);
    return { ...session, userId };
  };
  const isOfAnother = (request: { readonly userId?: string | undefined }): boolean =>
    userId !== undefined && (request.userId ?? userId) !== userId;
  return {
    create: async (session) => {
      const own = ownedBy(session);
      return callOrder.write(session.id, () => runner.write(() => sessions.createSession(sql, own), "idempotent"));
    },
    get: (id) => callOrder.read(id, () => runner.single(() => sessions.readSession(sql, id, userId))),
    list: (request) => single(() => listSessions(sql, [request, { userId }], request)),
    count: () => single(() => sessions.countSessions(userId)),
    // What is no session's is not one user's business.
    unregistered: async (options = {}) => (userId === undefined ? single(() => listUnregistered(sql, options)) : []),
    due: (request = {}) => single(() => listDue(sql, { ...request, userId })),
    markLearned: (id, change) => write([id], () => markLearned(sql, id, change, userId)),
    update: async (id, change) => {
      assertSessionTexts({ name: change.name });
      return write([id], () => sessions.updateSession(sql, id, change, userId));
    },
    restore: (id, dates) => write([id], () => sessions.restoreSession(sql, id, dates, userId)),
    delete: (id) => write([id], () => deleteSession(sql, id, userId)),
    prune: async (id, request) => {
      const prune = () => pruneSession(sql, id, request, userId);
      return request.dryRun === true ? callOrder.read(id, () => runner.read(prune)) : write([id], prune);
    },
    addUsage: async (id, input, output, cost, model) => {
      assertSessionTexts({ model });
      const counted = { inputTokens: input, outputTokens: output, cost };
      return write([id], () => addUsage(sql, id, counted, { model, userId }));
    },
    usageRows: (id) =>
      callOrder.read(id, () =>
        runner.read(function* () {
          const isThere = userId === undefined || (yield* sessions.readSession(sql, id, userId)) !== null;
          return isThere ? yield* readUsageRows(sql, id) : [];
        }),
      ),
    importUsage: (id, total, rows) => write([id], () => importUsage(sql, id, total, { rows, userId })),
    usage: async (request) => {
      if (isOfAnother(request)) return [];
      return single(() => readUsage({ ...request, userId: request.userId ?? userId }));
    },
    compactionSums: async (request) => {
      if (isOfAnother(request)) return [];
      return single(() => sumCompactions(sql, { ...request, userId: request.userId ?? userId }));
    },
    fork: async (id, atMessageId, next) => {
      assertSessionTexts(next);
      return write([id, next.id], () => fork.forkSession(sql, id, atMessageId, next, userId));
    },
    split: async (id, opening, next) => {
      assertSessionTexts(next);
      const encoded = encodeFor(sql, opening);
      return write([id, next.id], () => fork.splitSession(sql, id, encoded, next, userId));
    },
    claim: async (from, to) => {
      if (userId !== undefined) throw confined("give sessions to a user");
      return callOrder.hold({ write: [userScope(from), userScope(to)] }, () =>
        runner.write(() => claimSessions(sql, from, to)),
      );
    },
  };
}
