// The stores at each setting, and hand-written SQL at the same one. Each holds the conversation twice: in `MAIN` and in `LONG`,
// which is summarised up to its newest messages, as a long conversation is that goes on.
import { join } from "node:path";
import { openBaseline } from "../baseline.mjs";
import { barePostgres, stemmaPostgres } from "../candidates/postgres.mjs";
import { configure } from "../candidates/stemma.mjs";
import { openDatabase } from "../database.mjs";
import { MAIN } from "../datasets.mjs";
import { rangeOf } from "../families/search.mjs";
import { Session, sqlite } from "../stemma.mjs";
import { verifyMessages } from "../verify.mjs";

/** The session that turns are taken in. */
export const LONG = "long";
const VISIBLE = 50;

/** Each setting with its name and the two sides, `stemma` and `bare`; `servers` are those of Postgres by the names of theirs. */
export async function openSettings(folder, servers, messages) {
  const settings = [];
  for (const synchronous of ["full", "normal"]) {
    const path = join(folder, `stemma-${synchronous}.db`);
    settings.push({
      name: `SQLite, \`${synchronous}\``,
      stemma: openStemma(sqlite(openFile(path, synchronous))),
      bare: openBareFile(join(folder, `bare-${synchronous}.db`), path, synchronous),
    });
  }
  for (const [name, { port }] of Object.entries(servers)) {
    const ours = await stemmaPostgres.open(port);
    settings.push({
      name,
      stemma: { ...openStemma(null, ours.session), close: ours.close },
      bare: await openBareServer(port),
    });
  }
  for (const { name, stemma, bare } of settings) {
    for (const id of [MAIN, LONG]) {
      await stemma.fill(id, messages);
      await bare.fill(id, messages);
    }
    await stemma.summarise(messages[0].id, messages.at(-VISIBLE - 1).id);
    for (const side of [stemma, bare]) {
      verifyMessages(name, await side.history(), messages);
      verifyMessages(name, await side.last(VISIBLE), messages.slice(-VISIBLE));
    }
  }
  return settings;
}

function openStemma(store, sessionOf = (id) => Session.create(store).forSession(id)) {
  const main = sessionOf(MAIN);
  const long = configure(sessionOf(LONG));
  return {
    async fill(id, messages) {
      const session = id === MAIN ? main : long;
      for (let start = 0; start < messages.length; start += 1000) {
        await session.appendAll(messages.slice(start, start + 1000));
      }
    },
    summarise: (from, to) => long.addCompaction("What was said.", from, to),
    append: (message) => main.appendMessage(message),
    history: () => main.getHistory(),
    last: async (count) => (await main.getRecentHistory(0, { minMessages: count })).messages,
    search: (query) => main.search(query),
    appendLong: (message) => long.appendMessage(message),
    prepareTurn: () => long.prepareTurn(),
    close: () => store?.close(),
  };
}

function openFile(path, synchronous) {
  const db = openDatabase(path);
  db.pragma(`synchronous = ${synchronous}`);
  return db;
}

function openBareFile(path, indexedPath, synchronous) {
  const db = openFile(path, synchronous);
  const tables = openBaseline(db);
  // It has no index that tells messages of sessions apart, so it searches stemma's.
  const indexed = openFile(indexedPath, synchronous);
  let search = null;
  const searchBest = (query) => {
    const { lo, hi } = rangeOf(indexed, MAIN);
    search ??= indexed.prepare(
      `SELECT m.content FROM assistant_fts JOIN assistant_messages m ON m.n = assistant_fts.rowid
       WHERE assistant_fts MATCH ? AND assistant_fts.rowid BETWEEN ${lo} AND ${hi} ORDER BY rank LIMIT 20`,
    );
    return search.all(`"${query}"`).map(({ content }) => JSON.parse(content));
  };
  return {
    fill(id, messages) {
      tables.start();
      tables.appendAll(id, messages);
    },
    append: (message) => tables.append(MAIN, message),
    history: () => tables.history(MAIN),
    last: (count) => tables.last(MAIN, count),
    search: searchBest,
    appendLong: (message) => tables.append(LONG, message),
    prepareTurn: () => tables.last(LONG, VISIBLE),
    close() {
      db.close();
      indexed.close();
    },
  };
}

async function openBareServer(port) {
  const bare = await barePostgres.open(port);
  return {
    async fill(id, messages) {
      await bare.fill(id, messages);
      await bare.analyze();
    },
    append: (message) => bare.append(MAIN, message),
    history: () => bare.history(MAIN),
    last: (count) => bare.last(MAIN, count),
    search: (query) => bare.search(MAIN, query),
    appendLong: (message) => bare.append(LONG, message),
    prepareTurn: () => bare.last(LONG, VISIBLE),
    close: () => bare.close(),
  };
}
