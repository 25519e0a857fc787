import { StemmaError } from "../../../errors.js";
import type { SessionInfo, SessionRegistry, Store } from "../../../storage/contract.js";
import { userScope } from "../../../storage/session-id.js";
import type { HeldSessions } from "./held-sessions.js";

/** The registry of a store on a four-method storage; `store` is the one in memory. */
export function registryOf(held: HeldSessions, { sessions, userId }: Store): SessionRegistry {
  const readAll = held.readAll.bind(held);
  const read = held.read.bind(held);
  const write = held.write.bind(held);
  return {
    create: (session) => write([session.id], () => sessions.create(session)),
    get: (id) => read(id, () => sessions.get(id)),
    async list({ limit, cursor, ...filter }) {
      const after = cursor === undefined ? null : parseCursor(cursor);
      const all = await readAll(async () => (await sessions.list(filter)).sessions.sort(byUpdate));
      const rest = after === null ? all : all.filter((info) => byUpdate(after, info) < 0);
      const page = rest.slice(0, limit);
      const last = page.at(-1);
      const nextCursor = last !== undefined && page.length < rest.length ? cursorOf(last) : null;
      return { sessions: page, nextCursor };
    },
    count: () => readAll(() => sessions.count()),
    update: (id, change) => write([id], () => sessions.update(id, change)),
    restore: (id, dates) => write([id], () => sessions.restore(id, dates)),
    async delete(id) {
      if (userId !== undefined && (await read(id, () => sessions.get(id))) === null) return;
      await held.remove(id);
    },
    addUsage: (id, input, output, cost, model) => write([id], () => sessions.addUsage(id, input, output, cost, model)),
    usageRows: (id) => read(id, () => sessions.usageRows(id)),
    importUsage: (id, total, rows) => write([id], () => sessions.importUsage(id, total, rows)),
    usage: (request) =>
      request.sessionId === undefined
        ? readAll(() => sessions.usage(request))
        : read(request.sessionId, () => sessions.usage(request)),
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

type Position = Pick<SessionInfo, "updated_at" | "created_at" | "id">;

/** The latest change first. */
function byUpdate(a: Position, b: Position): number {
  for (const field of ["updated_at", "created_at", "id"] as const) {
    if (a[field] !== b[field]) return a[field] < b[field] ? 1 : -1;
  }
  return 0;
}

function cursorOf({ updated_at, created_at, id }: Position): string {
  return [updated_at, created_at, id].join("~");
}

function parseCursor(cursor: string): Position {
  const [updated_at = "", created_at = "", ...id] = cursor.split("~");
  const times = [updated_at, created_at].every((time) => /^\d{4}-.*Z$/.test(time));
  if (times && id.length > 0) return { updated_at, created_at, id: id.join("~") };
  const message = "A cursor is the nextCursor of an earlier page, as it was given.";
  throw new StemmaError("INVALID_ARGUMENT", { cursor }, message);
}
