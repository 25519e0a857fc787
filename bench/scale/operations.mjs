// What is measured at every size, and what a store of that size holds.
import { randomUUID } from "node:crypto";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { SESSION, sessionOf, tenSessions, wordOf } from "../postgres-size/corpus.mjs";

export { SESSION };

/** In as many messages of a store as stand in ten sessions, however large it is. */
const FIXED = "holdfast";
const FIXED_SESSIONS = 10;
/** The session that is opened and appended to. */
const OPENED = "opened";
const OPENED_MESSAGES = 200;

const numbered = (messages, number) => messages.map((message) => ({ ...message, id: `${number}-${message.id}` }));
const marked = (message) => ({ ...message, parts: [{ type: "text", text: `${message.parts[0].text} ${FIXED}` }] });

/** Fills a store up to so many messages in sessions of ten, from where it was left. `tell` hears of each tenth. */
export async function load(store, messages, tell) {
  const manager = SessionManager.create(store);
  for (let index = 0; index < OPENED_MESSAGES / SESSION; index += 1) {
    await manager.appendAll(OPENED, numbered(sessionOf(index), index));
  }
  for (let index = 0; index < FIXED_SESSIONS; index += 1) {
    await manager.appendAll(`fixed${index}`, sessionOf(index).map(marked));
  }
  const sessions = messages / SESSION;
  for (let index = await firstMissing(store, sessions); index < sessions; index += 1) {
    await manager.appendAll(`s${index}`, sessionOf(index));
    if ((index + 1) % (sessions / 10) === 0) tell((index + 1) * SESSION);
  }
}

// They were written one after the other.
async function firstMissing(store, sessions) {
  let [low, high] = [0, sessions];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((await store.session(`s${middle}`).leaf()) === null) high = middle;
    else low = middle + 1;
  }
  return Math.max(0, low - 1);
}

/** Each call by its name, in a store of so many messages; `open` gives a new one at the same place. */
export function operationsOf({ store, open, size }) {
  const manager = SessionManager.create(store);
  const sessionIds = tenSessions(size);
  return {
    append: () => manager.append(OPENED, { ...sessionOf(7)[0], id: randomUUID() }),
    "open a session of 200": () => manager.getSession(OPENED).getHistory(),
    "a new store's first read": async () => {
      const other = open();
      await SessionManager.create(other).getSession(OPENED).getRecentHistory(0, { minMessages: 50 });
      await other.close();
    },
    "list a page of 20": () => manager.listPage({ limit: 20 }),
    "search for a word of 100 messages": () => manager.search(FIXED),
    "search for a word of every fifth": () => manager.search(wordOf(20)),
    "search ten sessions for it": () => manager.search(wordOf(20), { sessionIds }),
  };
}
