// What is measured. Each operation is prepared, timed, and then undone, so that the store stays as large as it is.
import { randomUUID } from "node:crypto";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { LONG, QUERIES, SESSION, sessionOf, tenSessions } from "./corpus.mjs";

const LONG_MESSAGES = 200;
const LAST = `${LONG_MESSAGES / SESSION - 1}-m${SESSION - 1}`;

/** Fills a store with sessions of ten messages, and one of 200. */
export async function load(store, messages) {
  const manager = SessionManager.create(store);
  let next = 0;
  const work = async () => {
    for (let index = next++; index < messages / SESSION; index = next++) {
      await manager.appendAll(`s${index}`, sessionOf(index));
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  for (let index = 0; index < LONG_MESSAGES / SESSION; index += 1) {
    const some = sessionOf(index).map((message) => ({ ...message, id: `${index}-${message.id}` }));
    await manager.appendAll(LONG, some);
  }
}

/** Each operation by its name, of a store of so many messages. `run` is timed, on what `prepare` gives; `undo` is given what `run` gave. */
export function operationsOf(store, messages) {
  const manager = SessionManager.create(store);
  const session = manager.getSession(LONG);
  const searches = (where, name, options) =>
    Object.entries(QUERIES).map(([query, text]) => [`${name}: ${query}`, { run: () => where.search(text, options) }]);
  const sessionIds = tenSessions(messages);
  const fork = () => manager.fork(LONG, LAST, "fork");
  const forget = ({ id }) => manager.delete(id);
  return {
    ...Object.fromEntries(searches(manager, "search")),
    ...Object.fromEntries(searches(session, "search within a session")),
    ...Object.fromEntries(searches(manager, "search within ten sessions", { sessionIds })),
    "fork of 200 messages": { run: fork, undo: forget },
    "delete of a session of 200": { prepare: fork, run: forget },
    split: { run: () => manager.compactAndSplit(LONG, "What was said before."), undo: forget },
    "list a page of 20": { run: () => manager.listPage({ limit: 20 }) },
    "open 200 messages": { run: () => manager.getSession(LONG).getHistory() },
    append: {
      prepare: () => manager.create("appended"),
      run: async ({ id }) => {
        await manager.append(id, { ...sessionOf(7)[0], id: randomUUID() });
        return { id };
      },
      undo: forget,
    },
  };
}
