import { readFileSync } from "node:fs";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresSessionProvider } from "agents-0.22/experimental/memory/session";
import pg from "pg";
import { MAIN } from "../datasets.mjs";
import { postgres, Session, SessionManager } from "../stemma.mjs";
import { graphOn } from "./langgraph.mjs";
import { configure } from "./stemma.mjs";

const DOCUMENTED_TABLES = readFileSync(new URL("../../test/postgres/documents-schema.sql", import.meta.url), "utf8");

/** The baseline on Postgres: a bare INSERT into the documented table, as pg sends it by default, and one ordered SELECT. */
export const barePostgres = candidate("baseline", (client) => startBare(client));

/** The same, whose INSERT is prepared. */
export const preparedPostgres = candidate("prepared baseline", (client) => startBare(client, "bare_insert"));

async function startBare(client, name) {
  await client.query(DOCUMENTED_TABLES);
  const insert = `INSERT INTO assistant_messages (session_id, id, parent_id, role, content, text_content)
                  VALUES ($1, $2, $3, $4, $5, $6)`;
  const select = "SELECT content FROM assistant_messages WHERE session_id = $1 ORDER BY created_at";
  let parent = null;
  return {
    async append(sessionId, message) {
      const { id, role } = message;
      const values = [sessionId, id, parent, role, JSON.stringify(message), textOf(message)];
      await client.query({ name, text: insert, values });
      parent = id;
    },
    appendConfigured(sessionId, message) {
      return this.append(sessionId, message);
    },
    history: async (sessionId) => parsed(await client.query(select, [sessionId])),
    async last(sessionId, count) {
      const newest = `SELECT content, created_at FROM assistant_messages WHERE session_id = $1 ORDER BY created_at DESC LIMIT $2`;
      return parsed(
        await client.query(`SELECT content FROM (${newest}) AS newest ORDER BY created_at`, [sessionId, count]),
      );
    },
    appendAll: (sessionId, messages) => fillDocumented(client, sessionId, messages),
    length: async (sessionId) =>
      Number(
        (await client.query("SELECT count(*) FROM assistant_messages WHERE session_id = $1", [sessionId])).rows[0]
          .count,
      ),
    async search(sessionId, query) {
      const matching = "session_id = $1 AND content_tsv @@ plainto_tsquery('english', $2)";
      const rank = "ts_rank(content_tsv, plainto_tsquery('english', $2))";
      const text = `SELECT content FROM assistant_messages WHERE ${matching} ORDER BY ${rank} DESC LIMIT 20`;
      return parsed(await client.query(text, [sessionId, query]));
    },
    // The documented tables keep no leaf, so it is given one.
    async prepareLeaf() {
      await client.query("CREATE TABLE leaf (session_id TEXT PRIMARY KEY, id TEXT NOT NULL)");
      await client.query("INSERT INTO leaf VALUES ($1, '')", [MAIN]);
    },
    setLeaf: (sessionId, id) => client.query("UPDATE leaf SET id = $2 WHERE session_id = $1", [sessionId, id]),
    async summarise() {},
    summarised(sessionId) {
      return this.last(sessionId, 50);
    },
    async fork(sessionId, newId) {
      const columns = "id, parent_id, role, content, text_content, created_at";
      const text = `INSERT INTO assistant_messages (session_id, ${columns}) SELECT $2, ${columns} FROM assistant_messages WHERE session_id = $1`;
      await client.query(text, [sessionId, newId]);
    },
    delete: (sessionId, id) =>
      client.query("DELETE FROM assistant_messages WHERE session_id = $1 AND id = $2", [sessionId, id]),
  };
}

const parsed = ({ rows }) => rows.map(({ content }) => JSON.parse(content));

export const stemmaPostgres = candidate("stemma", async (client) => {
  const store = postgres(client);
  const sessions = new Map();
  const session = (id) => {
    if (!sessions.has(id)) sessions.set(id, Session.create(store).forSession(id));
    return sessions.get(id);
  };
  const configured = new Map();
  const configuredSession = async (id) => {
    if (!configured.has(id)) {
      configured.set(id, configure(Session.create(store).forSession(id)));
      await configured.get(id).freezeSystemPrompt();
    }
    return configured.get(id);
  };
  return {
    session,
    configured: configuredSession,
    appendConfigured: async (sessionId, message) => (await configuredSession(sessionId)).appendMessage(message),
    async prepareLeaf() {},
    setLeaf: (sessionId, id) => session(sessionId).setActiveLeaf(id),
    summarise: (sessionId, from, to) => session(sessionId).addCompaction("What was said.", from, to),
    summarised: (sessionId) => session(sessionId).getHistory(),
    append: (sessionId, message) => session(sessionId).appendMessage(message),
    appendAll: (sessionId, messages) => session(sessionId).appendAll(messages),
    history: (sessionId) => session(sessionId).getHistory(),
    last: async (sessionId, count) => (await session(sessionId).getRecentHistory(0, { minMessages: count })).messages,
    length: (sessionId) => session(sessionId).getPathLength(),
    search: (sessionId, query) => session(sessionId).search(query),
    async fork(sessionId, _newId, leafId) {
      await SessionManager.create(store).fork(sessionId, leafId, "fork");
    },
    delete: (sessionId, id) => session(sessionId).deleteMessages([id]),
    fill: (sessionId, messages) => session(sessionId).appendAll(messages),
  };
});

const startAgents22 = async (client) => {
  await client.query(DOCUMENTED_TABLES);
  const provider = (id) => new PostgresSessionProvider(client, id);
  return {
    append: (sessionId, message) => provider(sessionId).appendMessage(message),
    history: (sessionId) => provider(sessionId).getHistory(),
  };
};
/** LangGraph's Postgres checkpointer, whose tables stand in the client's schema. */
const startLanggraph = async (client, schema) => {
  // It takes connections of a pool, of which it uses one at a time.
  const query = (...given) => client.query(...given);
  const pool = { query, connect: async () => ({ query, release() {} }) };
  const saver = new PostgresSaver(pool, undefined, { schema });
  await saver.setup();
  const { put, history } = graphOn(saver);
  return { fill: put, append: (sessionId, message) => put(sessionId, [message]), history };
};
export const langgraphPostgres = { ...candidate("LangGraph checkpointer", startLanggraph), appendsPerTurn: 1 };

export const agents22Postgres = { ...candidate("agents@0.22 provider", startAgents22), appendsPerTurn: 1 };

function candidate(name, start) {
  return {
    name,
    /** On a schema of its own. */
    async open(port) {
      const schema = `bench_${name.replace(/\W+/g, "_")}`;
      const client = new pg.Client({
        connectionString: `postgres://postgres:postgres@127.0.0.1:${port}/postgres`,
        options: `-c search_path=${schema}`,
      });
      await client.connect();
      await client.query(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
      const started = await start(client, schema);
      return {
        fill: (sessionId, messages) => fillDocumented(client, sessionId, messages),
        ...started,
        client,
        async appendEach(sessionId, messages) {
          for (const message of messages) await started.append(sessionId, message);
        },
        analyze: () => client.query("ANALYZE"),
        async size() {
          const text =
            "SELECT sum(pg_total_relation_size(oid)) AS bytes FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace";
          return Number((await client.query(text)).rows[0].bytes);
        },
        close: () => client.end(),
      };
    },
  };
}

function textOf({ parts }) {
  return parts
    .filter(({ type }) => type === "text")
    .map(({ text }) => text)
    .join("\n");
}

// The rows that appends would leave, a microsecond apart.
async function fillDocumented(client, sessionId, messages) {
  const rows = messages.map((message, index) => ({
    id: message.id,
    parent: messages[index - 1]?.id ?? null,
    role: message.role,
    content: JSON.stringify(message),
    words: textOf(message),
    place: index - messages.length,
  }));
  await client.query(
    `INSERT INTO assistant_messages (session_id, id, parent_id, role, content, text_content, created_at)
     SELECT $1, id, parent, role, content, words, now() + place * interval '1 microsecond'
     FROM json_to_recordset($2) AS m (id TEXT, parent TEXT, role TEXT, content TEXT, words TEXT, place INTEGER)`,
    [sessionId, JSON.stringify(rows)],
  );
}
