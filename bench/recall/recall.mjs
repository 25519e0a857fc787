// npm run bench:recall -- --locomo <path> [--postgres <url>]
//
// Without a URL a Postgres server that npm brings is started for as long as this runs.

import { createRequire } from "node:module";
import { parseArgs } from "node:util";
import { SessionManager } from "../../dist/session.js";
import { sqlite } from "../../dist/sqlite.js";
import { measureCjk } from "./cjk.mjs";
import { readLocomo } from "./locomo.mjs";
import { startPostgres } from "./postgres.mjs";
import { Score } from "./score.mjs";

// The package's own engine: this needs none of the peers.
const Database = createRequire(new URL("../../package.json", import.meta.url))("better-sqlite3");
const { values } = parseArgs({ options: { locomo: { type: "string" }, postgres: { type: "string" } } });
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
    const subject = shared ?? (await open(conversation.name));
    if (!shared) {
      await fill(subject.manager, conversation, `${conversation.name}-`);
      await subject.settle?.();
    }
    for (const { text, category, evidence } of conversation.questions) {
      const hits = await search(subject, text);
      // The same turn ids stand in every conversation.
      const found = hits.map(({ id, sessionId }) =>
        sessionId.startsWith(`${conversation.name}-`) ? id : `other ${id}`,
      );
      score.add(category, evidence, found);
    }
    if (!shared) await subject.close();
  }
  await shared?.close();
  return score;
}

const openSqlite = async () => {
  const database = new Database(":memory:");
  const store = sqlite(database);
  return { database, manager: SessionManager.create(store), close: () => store.close() };
};

// The reference's rules: one quoted phrase within a session, all words across sessions. Here over the same index.
const byRule =
  (rule) =>
  ({ database }, question) => {
    const words = question.match(/[\p{L}\p{N}]+/gu) ?? [];
    const match = rule === "phrase" ? `"${words.join(" ")}"` : words.map((word) => `"${word}"`).join(" ");
    return database
      .prepare(
        `SELECT m.id AS id, m.session_id AS sessionId FROM assistant_fts f JOIN assistant_messages m ON m.n = f.rowid
       WHERE f.assistant_fts MATCH ? ORDER BY f.rank LIMIT ${LIMIT}`,
      )
      .all(match);
  };

const ours = ({ manager }, question) => manager.search(question, { limit: LIMIT });

function print(name, score) {
  for (const { category, questions, r5, r10, r20, mrr } of score.rows()) {
    if (category !== "all" && !name.startsWith("stemma")) continue;
    const figures = [r5, r10, r20, mrr].map((figure) => figure.toFixed(3).padStart(7)).join("");
    console.log(`${name.padEnd(44)} ${category.padEnd(4)} ${String(questions).padStart(5)} ${figures}`);
  }
}

if (values.locomo) {
  const conversations = readLocomo(values.locomo);
  console.log(`${"LoCoMo".padEnd(44)} cat.     n     R@5   R@10   R@20    MRR`);
  const server = await startPostgres(values.postgres);
  const subjects = [
    ["stemma on SQLite, a store per conversation", { pooled: false, open: openSqlite, search: ours }],
    ["stemma on SQLite, all in one store", { pooled: true, open: openSqlite, search: ours }],
    ["stemma on Postgres, a store per conversation", { pooled: false, open: server.open, search: ours }],
    ["stemma on Postgres, all in one store", { pooled: true, open: server.open, search: ours }],
    ["reference's phrase search", { pooled: false, open: openSqlite, search: byRule("phrase") }],
    ["reference's all-words search", { pooled: false, open: openSqlite, search: byRule("words") }],
  ];
  for (const [name, subject] of subjects) print(name, await ask(conversations, subject));
  await server.stop();
} else {
  console.log("LoCoMo is left out: pass --locomo <path to locomo10.json>.");
}

console.log("\nChinese, Japanese, Korean");
for (const { language, sentences, substrings, found, questions, hits } of await measureCjk(openSqlite)) {
  console.log(
    `${language}: ${sentences} sentences; ${found} of ${substrings} one-word queries find their sentence; ` +
      `${hits} of ${questions} questions find it in the first 10 (${(hits / questions).toFixed(2)})`,
  );
}
