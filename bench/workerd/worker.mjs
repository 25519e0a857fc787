// The worker whose Durable Objects hold the conversations: one class, an object per candidate, methods called by name.
import { AgentSessionProvider } from "agents-0.22/experimental/memory/session";
import { Session, SessionManager } from "../../packages/stemma/src/session.js";
import { durableObject } from "../../packages/store/src/durable-object.js";
import { openBaseline } from "../baseline.mjs";
import { writeRows } from "../candidates/agents-22-rows.mjs";
import { onStorage } from "../candidates/agents-32-storage.mjs";
import { makeMessages } from "../messages.mjs";
import { digest } from "../verify.mjs";

const MAIN = "main";

const CANDIDATES = {
  baseline({ sql }) {
    const baseline = openBaseline(databaseOf(sql));
    return {
      append: (message) => baseline.append(MAIN, message),
      fill: (messages) => baseline.appendAll(MAIN, messages),
      history: () => baseline.history(MAIN),
      last: (count) => baseline.last(MAIN, count),
    };
  },
  stemma: (storage) => ours(durableObject({ storage })),
  "stemma, search off"(storage) {
    const { search: _search, ...others } = ours(durableObject({ storage }, { search: false }));
    return others;
  },
  "agents@0.22 provider"({ sql }) {
    const host = { sql: (strings, ...values) => sql.exec(strings.join("?"), ...values).toArray() };
    const provider = new AgentSessionProvider(host, MAIN);
    return {
      append: (message) => provider.appendMessage(message),
      fill(messages) {
        provider.appendMessage(messages[0]);
        writeRows(databaseOf(sql), MAIN, messages.slice(0, -1));
        provider.appendMessage(messages.at(-1), messages.at(-2).id);
      },
      history: () => provider.getHistory(),
      last: (count) => provider.getRecentHistory(null, 0, count).messages,
      delete: (id) => provider.deleteMessages([id]),
    };
  },
  "agents@0.32": (storage) => agents32(storage, { indexed: false }),
  "agents@0.32 with its index": (storage) => agents32(storage, { indexed: true }),
};

function ours(store) {
  const session = Session.create(store).forSession(MAIN);
  return {
    append: (message) => session.appendMessage(message),
    fill: (messages) => session.appendAll(messages),
    history: () => session.getHistory(),
    last: async (count) => (await session.getRecentHistory(0, { minMessages: count })).messages,
    async stream() {
      for await (const _message of session.history());
    },
    length: () => session.getPathLength(),
    search: (query) => session.search(query),
    switch: (id) => session.setActiveLeaf(id),
    fork: (id) => SessionManager.create(store).fork(MAIN, id, "fork"),
    summarise: ([from, to]) => session.addCompaction("What was said.", from, to),
    summarised: () => session.getHistory(),
    delete: (id) => session.deleteMessages([id]),
  };
}

async function agents32(storage, { indexed }) {
  const sessions = onStorage(storage);
  await sessions.onStart();
  const session = sessions.session(MAIN);
  return {
    append: (message) => session.appendMessage(message),
    async fill(messages) {
      for (const message of messages) await session.appendMessage(message);
      if (indexed) await session.search("anything");
    },
    history: () => session.getHistory(),
    async last(count) {
      const newest = [];
      for await (const message of session.history({ newestFirst: true })) if (newest.push(message) === count) break;
      return newest.reverse();
    },
    delete: (id) => session.deleteMessages([id]),
  };
}

// As much of better-sqlite3 as hand-written SQL needs. What an object writes without waiting is one transaction anyway.
function databaseOf(sql) {
  const prepare = (text) => {
    if (/^(BEGIN|COMMIT)/.test(text)) return { run() {} };
    return { run: (...values) => sql.exec(text, ...values), all: (...values) => sql.exec(text, ...values).toArray() };
  };
  return { prepare, exec: (text) => sql.exec(text), transaction: (work) => work };
}

export class Conversation {
  #opened;
  #rows = { read: 0, written: 0 };

  constructor(ctx) {
    this.ctx = ctx;
  }

  async fetch(request) {
    const [, , candidate, method] = new URL(request.url).pathname.split("/").map(decodeURIComponent);
    try {
      const value = await this[method](candidate, ...(await request.json()));
      return Response.json({ value });
    } catch (error) {
      return Response.json({ error: `${error.stack}` });
    }
  }

  /** Gives it the conversation of `count` messages, and tells their hash as it reads them. */
  async fill(candidate, count) {
    const opened = await this.#open(candidate);
    await opened.fill(makeMessages(count));
    return digest(await opened.history());
  }

  /** The rows that a call reads and writes, with opening the candidate if it is the first; null for what it does not have. */
  async cost(candidate, method, argument) {
    const before = { ...this.#rows };
    const opened = await this.#open(candidate);
    if (!(method in opened)) return null;
    await opened[method](argument);
    return { read: this.#rows.read - before.read, written: this.#rows.written - before.written };
  }

  async appendEach(candidate, messages) {
    const opened = await this.#open(candidate);
    for (const message of messages) await opened.append(message);
  }

  async digestOfLast(candidate, count) {
    return digest(await (await this.#open(candidate)).last(count));
  }

  /** Ends this instance: the next call wakes another one, with nothing in memory. */
  async evict() {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }

  #open(candidate) {
    this.#opened ??= CANDIDATES[candidate](counted(this.ctx.storage, this.#rows));
    return this.#opened;
  }
}

// The storage, with the rows counted that its statements read and write.
function counted(storage, rows) {
  const exec = (text, ...values) => {
    const cursor = storage.sql.exec(text, ...values);
    const all = cursor.toArray();
    rows.read += cursor.rowsRead;
    rows.written += cursor.rowsWritten;
    return {
      columnNames: cursor.columnNames,
      rowsRead: cursor.rowsRead,
      rowsWritten: cursor.rowsWritten,
      toArray: () => all,
      one: () => all[0],
      raw: () => all.map((row) => Object.values(row)),
      [Symbol.iterator]: () => all.values(),
    };
  };
  return {
    sql: {
      exec,
      get databaseSize() {
        return storage.sql.databaseSize;
      },
    },
    transactionSync: (work) => storage.transactionSync(work),
    get: (key) => storage.get(key),
    put: (key, value) => storage.put(key, value),
  };
}

export default {
  fetch(request, env) {
    const [, name] = new URL(request.url).pathname.split("/").map(decodeURIComponent);
    return env.CONVERSATION.get(env.CONVERSATION.idFromName(name)).fetch(request);
  },
};
