import type { SessionInfo, SessionListRequest, SessionOrder, SessionRegistry, Store } from "@stemma/store";
import { cursorOf, isBehind, type ListPosition, parseCursor, userScope } from "@stemma/store";
import type { HeldSessions } from "./held-sessions.js";
/** The registry of a store on a four-method storage; `store` is the one in memory. */
export function registryOf(held: HeldSessions, { sessions, session, userId }: Store): SessionRegistry {
  const readAll = held.readAll.bind(held);
  const read = held.read.bind(held);
  const write = held.write.bind(held);
  return {
    create: (session) => write([session.id], () => sessions.create(session)),
    get: (id) => read(id, () => sessions.get(id)),
    list: ({ limit, cursor, orderBy, ...filter }) =>
      readAll(async () => {
        const listed = (await sessions.list(filter)).sessions.map(async (info) => {
          return { info, messages: orderBy === "messages" ? await session(info.id).count() : 0 };
        });
        return pageOf(await Promise.all(listed), { limit, cursor, orderBy });
      }),
    count: () => readAll(() => sessions.count()),
    unregistered: (options) => readAll(() => sessions.unregistered(options)),
    due: (request) => readAll(() => sessions.due(request)),
    markLearned: (id, change) => write([id], () => sessions.markLearned(id, change)),
    update: (id, change) => write([id], () => sessions.update(id, change)),
    restore: (id, dates) => write([id], () => sessions.restore(id, dates)),
    async delete(id) {
      const isOther = userId !== undefined && (await read(id, () => sessions.get(id))) === null;
      return (isOther ? null : await held.remove(id)) ?? sessions.delete(id);
    },
    async prune(id, request) {
      const { changedBefore, dryRun = false } = request;
      if (dryRun) return read(id, () => sessions.prune(id, request));
      if (changedBefore !== undefined) {
        // A state is removed as a whole, however large it is.
        const isOld = async () => ((await sessions.get(id))?.updated_at ?? changedBefore) < changedBefore;
        const erased = await held.remove(id, isOld);
        if (erased !== null) return { deleted: erased.deleted, done: true };
      }
      return write([id], () => sessions.prune(id, request));
    },
    addUsage: (id, input, output, cost, model) => write([id], () => sessions.addUsage(id, input, output, cost, model)),
    usageRows: (id) => read(id, () => sessions.usageRows(id)),
    importUsage: (id, total, rows) => write([id], () => sessions.importUsage(id, total, rows)),
    usage: (request) =>
      request.sessionId === undefined
        ? readAll(() => sessions.usage(request))
        : read(request.sessionId, () => sessions.usage(request)),
    compactionSums: (request) =>
      request.sessionId === undefined
        ? readAll(() => sessions.compactionSums(request))
        : read(request.sessionId, () => sessions.compactionSums(request)),
    fork: (id, atMessageId, next) => write([next.id], () => sessions.fork(id, atMessageId, next), [id]),
    // The continuation first: until the last save, the session it continues is as it was.
    split: (id, first, next) => write([next.id, id], () => sessions.split(id, first, next)),
    async claim(from, to) {
      const ids = await readAll(async () => (await sessions.list({ userId: from })).sessions.map(({ id }) => id));
      const [gone, own] = [userScope(from), userScope(to)];
      // What the user has had comes first: a claim that is cut off is completed by the next.
      return write([own, ...ids, gone], () => sessions.claim(from, to));
    },
  };
}

/** A session, and how many messages it has; 0 where that is not asked for. */
interface SessionToSort {
  readonly info: SessionInfo;
  readonly messages: number;
}

/** A page of sessions, sorted. Errors: `INVALID_ARGUMENT` for a cursor that is none of the order. */
function pageOf(
  sessions: readonly SessionToSort[],
  { limit, cursor, orderBy = "change" }: Pick<SessionListRequest, "limit" | "cursor" | "orderBy">,
): { sessions: SessionInfo[]; nextCursor: string | null } {
  const after = cursor === undefined ? null : parseCursor(orderBy, cursor);
  const rest = sessions
    .map((session) => ({ info: session.info, at: placeOf(orderBy, session) }))
    .filter(({ at }) => after === null || isBehind(at, after))
    .sort((one, other) => (isBehind(one.at, other.at) ? 1 : -1));
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  const nextCursor = last !== undefined && page.length < rest.length ? cursorOf(orderBy, last.at) : null;
  return { sessions: page.map(({ info }) => info), nextCursor };
}

function placeOf(order: SessionOrder, { info, messages }: SessionToSort): ListPosition {
  const registered = Date.parse(info.created_at);
  const value = {
    change: info.updated_at,
    tokens: info.input_tokens + info.output_tokens,
    cost: info.estimated_cost,
    messages,
    registered,
  }[order];
  return { value, registered, id: info.id };
}
