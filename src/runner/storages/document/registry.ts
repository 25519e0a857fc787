import { LEARNING, type SessionRegistry, type Store } from "../../../storage/contract.js";
import { userScope } from "../../../storage/session-id.js";
import type { HeldSessions } from "./held-sessions.js";
import { pageOf } from "./session-page.js";

/** The registry of a store on a four-method storage; `store` is the one in memory. */
export function registryOf(held: HeldSessions, { sessions, userId }: Store): SessionRegistry {
  const readAll = held.readAll.bind(held);
  const read = held.read.bind(held);
  const write = held.write.bind(held);
  return {
    create: async (session) => held.infoOf(await write([session.id], () => sessions.create(session))),
    get: (id) =>
      read(id, async () => {
        const info = await sessions.get(id);
        return info === null ? null : held.infoOf(info);
      }),
    list: ({ limit, cursor, orderBy, ...filter }) =>
      readAll(async () => {
        const all = (await sessions.list(filter)).sessions.map((info) => held.infoOf(info));
        return pageOf(all, { limit, cursor, orderBy });
      }),
    count: () => readAll(() => sessions.count()),
    update: async (id, change) => held.infoOf(await write([id], () => sessions.update(id, change))),
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
    compactionSums: (request) =>
      request.sessionId === undefined
        ? readAll(() => sessions.compactionSums(request))
        : read(request.sessionId, () => sessions.compactionSums(request)),
    fork: async (id, atMessageId, next) => {
      const fork = async () => {
        const info = await sessions.fork(id, atMessageId, next);
        copyKeys(held, id, next.id);
        return info;
      };
      return held.infoOf(await write([next.id], fork, [id]));
    },
    split: async (id, first, next) => {
      const split = async () => {
        const info = await sessions.split(id, first, next);
        copyKeys(held, id, next.id);
        return info;
      };
      // The continuation first: until the last save, the session it continues is as it was.
      return held.infoOf(await write([next.id, id], split));
    },
    async claim(from, to) {
      const ids = await readAll(async () => (await sessions.list({ userId: from })).sessions.map(({ id }) => id));
      const [gone, own] = [userScope(from), userScope(to)];
      // What the user has had comes first: a claim that is cut off is completed by the next.
      return write([own, ...ids, gone], async () => {
        const claimed = await sessions.claim(from, to);
        if (from !== to) moveKeys(held, gone, own);
        return claimed;
      });
    },
  };
}

function copyKeys(held: HeldSessions, from: string, to: string): void {
  const target = held.keys(to);
  for (const [name, block] of held.keys(from).blocks) target.blocks.set(name, block);
  for (const [name, entry] of held.keys(from).entries) target.entries.set(name, entry);
  if (held.keys(from).records.has(LEARNING)) target.records.add(LEARNING);
}

// What both have stays as the target knows it.
function moveKeys(held: HeldSessions, from: string, to: string): void {
  const [source, target] = [held.keys(from), held.keys(to)];
  for (const [name, block] of source.blocks) if (!target.blocks.has(name)) target.blocks.set(name, block);
  for (const [name, entry] of source.entries) target.entries.set(name, entry);
  source.blocks.clear();
  source.entries.clear();
}
