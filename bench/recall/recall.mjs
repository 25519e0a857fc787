// npm run bench -- recall --locomo <path> [--postgres <url>] [--queries <number>]
//
// Without a URL a Postgres server that npm brings is started for as long as this runs. Random queries are 100,000, and on
// Postgres a hundredth of them, unless `--queries` says otherwise.

import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { measureCjk } from "./cjk.mjs";
import { readLocomo } from "./locomo.mjs";
import { startPostgres } from "./postgres.mjs";
import { measureRandom } from "./random-queries.mjs";
import { Score } from "./score.mjs";

// The package's own engine: this needs none of the peers.
const Database = createRequire(new URL("../../package.json", import.meta.url))("better-sqlite3");
const { values } = parseArgs({
  options: {
    locomo: { type: "string" },
    postgres: { type: "string" },
    queries: { type: "string", default: "100000" },
  },
});
const LIMIT = 20;

async function fill(manager, conversation, prefix) {
  for (const { id, messages } of conversation.sessions) await manager.appendAll(prefix + id, messages);
}

/** Asks every question of every conversation; `open` gives the store of a conversation, the same for all when pooled. */
async function ask(conversations, { pooled, open, search }) {
  const score = new Score();
  const shared = pooled ? await open("pooled") : null;
  if (shared)
    for (const conversation of conversations) await fill(shared.manager, conversation, `${conversation.name}-`);
  await shared?.settle?.();
  for (const conversation of conversations) {
    const candidate = shared ?? (await open(conversation.name));
    if (!shared) {
      await fill(candidate.manager, conversation, `${conversation.name}-`);
      await candidate.settle?.();
    }
    for (const { text, category, evidence } of conversation.questions) {
      const hits = await search(candidate, text);
      // The same turn ids stand in every conversation.
      const found = hits.map(({ id, sessionId }) =>
        sessionId.startsWith(`${conversation.name}-`) ? id : `other ${id}`,
      );
      score.add(category, evidence, found);
    }
    if (!shared) await candidate.close();
  }
  await shared?.close();
  return score;
}

/** The same where each conversation is a user of one store, whose sessions stand among those of the others. */
async function askOfUsers(conversations, open) {
  const score = new Score();
  const { manager, settle, close } = await open("users");
  const most = Math.max(...conversations.map(({ sessions }) => sessions.length));
  for (let index = 0; index < most; index += 1) {
    for (const { name, sessions } of conversations) {
      const session = sessions[index];
      if (session) await manager.forUser(name).appendAll(`${name}-${session.id}`, session.messages);
    }
  }
  await settle?.();
  for (const { name, questions } of conversations) {
    for (const { text, category, evidence } of questions) {
      const hits = await ours({ manager: manager.forUser(name) }, text);
      score.add(
        category,
        evidence,
        hits.map(({ id }) => id),
      );
    }
  }
  await close();
  return score;
}

const openSqlite = async () => {
  const database = new Database(":memory:");
  const store = sqlite(database);
  return { database, manager: SessionManager.create(store), close: () => store.close() };
};

// The reference's rules: one quoted phrase within a session, all words across sessions. Over an index as it has one.
const openReference = async () => {
  const candidate = await openSqlite();
  const { database, manager } = candidate;
  database.exec(
    "CREATE VIRTUAL TABLE reference USING fts5(text, content='', tokenize='porter unicode61 remove_diacritics 2')",
  );
  const insert = database.prepare("INSERT INTO reference (rowid, text) VALUES (?, ?)");
  const appendAll = async (sessionId, messages) => {
    await manager.appendAll(sessionId, messages);
    const rows = database.prepare("SELECT n FROM assistant_messages WHERE session_id = ? AND id = ?").pluck();
    for (const { id, parts } of messages) insert.run(rows.get(sessionId, id), parts.map(({ text }) => text).join(" "));
  };
  return { ...candidate, manager: { appendAll } };
};

const byRule =
  (rule) =>
  ({ database }, question) => {
    const words = question.match(/[\p{L}\p{N}]+/gu) ?? [];
    const match = rule === "phrase" ? `"${words.join(" ")}"` : words.map((word) => `"${word}"`).join(" ");
    return database
      .prepare(
        `SELECT m.id AS id, m.session_id AS sessionId FROM reference f JOIN assistant_messages m ON m.n = f.rowid
       WHERE f.reference MATCH ? ORDER BY f.rank LIMIT ${LIMIT}`,
      )
      .all(match);
  };

const ours = ({ manager }, question) => manager.search(question, { limit: LIMIT });

const verdict = (isMet, target) => `${target} ${isMet ? "met" : "MISSED"}`;

function print(name, score, target) {
  for (const { category, questions, r5, r10, r20, mrr } of score.rows()) {
    const figures = [r5, r10, r20, mrr].map((figure) => figure.toFixed(3).padStart(7)).join("");
    const said = category === "all" && target ? `  ${verdict(r10 >= target, `R@10 ≥ ${target.toFixed(2)}`)}` : "";
    console.log(`${name.padEnd(44)} ${category.padEnd(4)} ${String(questions).padStart(5)} ${figures}${said}`);
  }
  return score.rows().at(-1).r10;
}

const server = await startPostgres(values.postgres);

if (values.locomo) {
  const conversations = readLocomo(values.locomo);
  console.log(`${"LoCoMo".padEnd(44)} cat.     n     R@5   R@10   R@20    MRR`);
  const found = {};
  for (const pooled of [false, true]) {
    const where = pooled ? "all in one store" : "a store per conversation";
    const target = pooled ? 0.65 : 0.7;
    for (const [engine, open] of Object.entries({ SQLite: openSqlite, Postgres: server.open })) {
      const score = await ask(conversations, { pooled, open, search: ours });
      found[`${engine}, ${where}`] = print(`stemma on ${engine}, ${where}`, score, target);
    }
    const apart = Math.abs(found[`SQLite, ${where}`] - found[`Postgres, ${where}`]);
    console.log(`SQLite and Postgres are ${apart.toFixed(3)} apart: ${verdict(apart <= 0.02, "≤ 0.02")}`);
    for (const rule of ["phrase", "all-words"]) {
      const score = await ask(conversations, { pooled, open: openReference, search: byRule(rule) });
      print(`reference's ${rule} search, ${where}`, score);
    }
  }
  for (const [engine, open] of Object.entries({ SQLite: openSqlite, Postgres: server.open }))
    print(`stemma on ${engine}, a user of one store`, await askOfUsers(conversations, open), 0.7);
} else {
  console.log("LoCoMo is left out: pass --locomo <path to locomo10.json>.");
}

console.log("\nChinese, Japanese, Korean");
for (const { language, sentences, substrings, found, questions, hits } of await measureCjk(openSqlite)) {
  console.log(
    `${language}: ${sentences} sentences; ${found} of ${substrings} one-word queries find their sentence ` +
      `(${verdict(found === substrings, "all")}); ${hits} of ${questions} questions find it in the first 10 ` +
      `(${verdict(hits / questions >= 0.85, "≥ 0.85")})`,
  );
}

const queries = Number(values.queries);
console.log("\nRandom queries");
for (const [engine, open, asked] of [
  ["SQLite", openSqlite, queries],
  ["Postgres", server.open, Math.ceil(queries / 100)],
]) {
  const { messages, failed, found, strays, median, slowest } = await measureRandom(open, asked);
  console.log(
    `${engine}: ${asked} queries of ${messages} messages, ${found} results; ` +
      `${failed} errors (${verdict(failed === 0, "none")}); ${strays} results hold no word of the query (${verdict(strays === 0, "none")}); ` +
      `median ${median.toFixed(1)} ms, the slowest ${(slowest / median).toFixed(1)} times that (${verdict(slowest <= 25 * median, "≤ 25")})`,
  );
}
await server.stop();
