import pg from "pg";
import postgresJs from "postgres";
import { expect, it } from "vitest";
import { type PostgresSource, postgres } from "../../../packages/postgres/src/postgres.js";
import { Session, SessionManager, type SessionMessage } from "../../../packages/stemma/src/session.js";
import { SPAN } from "../../../packages/store/src/operations/registry/session-head.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

const SESSIONS = 1_000;
const MESSAGES = 20;
const FLUSH = "SELECT pg_stat_force_next_flush()";
const COMMON = "The weather was fine that day";

describeServer("on Postgres, with 20,000 messages", (server) => {
  /** A database of which nobody has gathered statistics, and how many rows of each large table `work` reads by going through it. */
  async function filled() {
    const url = await server.createDatabase();
    const store = postgres(url);
    const manager = SessionManager.create(store);
    const texts = Array.from(
      { length: MESSAGES },
      (_, index) => `${COMMON}, said speaker${index} of chapter${index % 7}`,
    );
    // Its number tells those of the others.
    await store.migrate();
    await server.query(
      url,
      "INSERT INTO assistant_sessions (no, id, name, created_at, updated_at) VALUES (1, 'first', 'first', now(), now())",
    );
    await manager.appendAll(
      "first",
      texts.map((text, index) => textMessage(`m${index}`, text)),
    );
    await server.query(
      url,
      `ALTER TABLE assistant_messages SET (autovacuum_enabled = off);
       ALTER TABLE assistant_fts SET (autovacuum_enabled = off);
       INSERT INTO assistant_sessions (no, id, name, created_at, updated_at)
         SELECT no, 's' || no, 's' || no, now(), now() FROM generate_series(2, ${SESSIONS}) AS no;
       INSERT INTO assistant_messages (n, id, session_id, parent_id, role, content, text_content, branch, tokens, total)
         SELECT n + (no - 1)::bigint * ${SPAN}, id, 's' || no, parent_id, role, content, text_content, branch, tokens, total
         FROM assistant_messages, generate_series(2, ${SESSIONS}) AS no;
       INSERT INTO assistant_fts (session_id, n, length, terms)
         SELECT 's' || no, n + (no - 1)::bigint * ${SPAN}, length, terms FROM assistant_fts, generate_series(2, ${SESSIONS}) AS no`,
    );
    await manager.append("s7", textMessage("rare", "Nobody else mentions the quokka."));
    const readBySequence = async (work: (manager: SessionManager) => Promise<unknown>) => {
      const client = new pg.Client(url);
      await client.connect();
      await client.query("SELECT pg_stat_reset()");
      await work(SessionManager.create(postgres(client)));
      // What a connection did is counted when it ends.
      await client.end();
      const read = "SELECT idx_scan::int AS found, seq_tup_read::int AS read FROM pg_stat_user_tables WHERE relname =";
      await expect
        .poll(async () => (await server.query(url, `${read} 'assistant_messages'`))[0]?.found)
        .toBeGreaterThan(0);
      const [messages] = await server.query(url, `${read} 'assistant_messages'`);
      const [index] = await server.query(url, `${read} 'assistant_fts'`);
      return { messages: messages?.read, index: index?.read };
    };
    return { url, readBySequence, close: () => store.close() };
  }

  const CALLS: Record<string, (manager: SessionManager) => Promise<unknown>> = {
    "a search for a rare word": (manager) => manager.search("quokka"),
    "a search for a common word": (manager) => manager.search("weather"),
    "a search for several words": (manager) => manager.search("weather speaker3 quokka"),
    "a search for a phrase": (manager) => manager.search('"weather was fine" quokka'),
    "a search with a filter": (manager) => manager.search("weather", { role: "assistant" }),
    "a search within a session": (manager) => manager.getSession("s9").search("weather speaker3"),
    "a fork": (manager) => manager.fork("s9", "m19", "fork"),
    "a split": (manager) => manager.compactAndSplit("s10", "What was said."),
    "a delete": (manager) => manager.delete("s11"),
    "a page of sessions": (manager) => manager.listPage({ limit: 20 }),
    "a history": (manager) => manager.getHistory("s12"),
    "an append": (manager) => manager.append("s13", textMessage(crypto.randomUUID(), "The weather again")),
  };

  it("no call reads the messages or their index from beginning to end, with statistics and without", async () => {
    const { url, readBySequence, close } = await filled();
    for (const statistics of ["without", "with"]) {
      for (const [name, call] of Object.entries(CALLS)) {
        expect({ statistics, name, ...(await readBySequence(call)) }).toMatchObject({ messages: 0, index: 0 });
      }
      await server.query(url, "ANALYZE");
    }
    await close();
  });

  it("a search finds the one message that holds a word, and the newest of a common one", async () => {
    const { url, close } = await filled();
    const manager = SessionManager.create(postgres(url));
    expect((await manager.search("quokka")).map(({ id }) => id)).toEqual(["rare"]);
    expect(await manager.search("weather", { limit: 20 })).toHaveLength(20);
    const [best] = await manager.search("weather quokka");
    expect(best?.id).toBe("rare");
    await close();
  });

  it("a search knows about how many messages there are, also where half of them were deleted since", async () => {
    const { url, close } = await filled();
    const estimate = async () => {
      const call = `SELECT matches::json->>'total' AS total FROM assistant_matches(NULL, NULL, NULL, '{"{quokka}"}', 250, 0)`;
      return Number((await server.query(url, call))[0]?.total) / (SESSIONS * MESSAGES);
    };
    expect(Math.abs((await estimate()) - 1)).toBeLessThan(0.15);
    await server.query(url, "DELETE FROM assistant_fts WHERE n % 20 < 10");
    const [left] = await server.query(url, "SELECT count(*)::int AS left FROM assistant_fts");
    const share = Number(left?.left) / (SESSIONS * MESSAGES);
    expect(Math.abs((await estimate()) - share)).toBeLessThan(0.15);
    // So few are left that it looks at the newest instead.
    await server.query(url, `DELETE FROM assistant_fts WHERE n < ${990 * SPAN}`);
    expect((await SessionManager.create(postgres(url)).search("weather", { limit: 20 })).length).toBeGreaterThan(15);
    await close();
  });

  it("a search finds what very many old messages hold, and no new one", async () => {
    const { url, close } = await filled();
    await server.query(
      url,
      `UPDATE assistant_fts SET terms = array_remove(terms, 'fine'), length = length - 1 WHERE n >= ${501 * SPAN} AND NOT 'quokka' = ANY (terms)`,
    );
    const manager = SessionManager.create(postgres(url));
    for (const query of ["fine", "fine quokka", '"was fine" fine']) {
      const found = await manager.search(query, { limit: 20 });
      const olds = found.filter(
        ({ sessionId, content }) => Number(sessionId.slice(1)) <= 500 && content.includes("fine"),
      );
      expect({ query, count: olds.length }).toEqual({ query, count: query.includes("quokka") ? 19 : 20 });
    }
    await close();
  });
});

describeServer("on Postgres, calls that were planned while the database was empty", (server) => {
  const CLIENTS: Record<
    string,
    (url: string) => { source: PostgresSource; flush(): Promise<unknown>; end(): Promise<void> }
  > = {
    "a pool of pg that prepares": (url) => {
      const pool = new pg.Pool({ connectionString: url, max: 1 });
      return { source: pool, flush: () => pool.query(FLUSH), end: () => pool.end() };
    },
    "postgres.js": (url) => {
      const sql = postgresJs(url, { max: 1, onnotice: () => {} });
      return { source: sql as unknown as PostgresSource, flush: () => sql.unsafe(FLUSH), end: () => sql.end() };
    },
  };

  it.each(Object.entries(CLIENTS))("read no more rows as a session grows, on %s", async (_, connect) => {
    const url = await server.createDatabase();
    const { source, flush, end } = connect(url);
    const session = Session.create(postgres(source, { prepare: true })).forSession("long");
    const fresh = (count: number) => Array.from({ length: count }, () => textMessage(crypto.randomUUID(), COMMON));
    const [first, second] = fresh(2) as [SessionMessage, SessionMessage];
    await session.appendMessage(first);
    await session.appendMessage(second);
    await server.query(url, "ALTER TABLE assistant_messages SET (autovacuum_enabled = off)");
    const calls: Record<string, () => Promise<unknown>> = {
      "an append": () => session.appendMessage(fresh(1)[0] as SessionMessage),
      "an append of what is there": () => session.appendMessage(first),
      "an append below an old message": () => session.appendMessage(fresh(1)[0] as SessionMessage, first.id),
      "a batch": () => session.appendAll(fresh(20)),
      "the newest messages": () => session.getRecentHistory(0, { minMessages: 5 }),
      "the history up to an old message": () => session.getHistory(second.id),
      "a message": () => session.getMessage(second.id),
      "its parent": () => session.getParent(second.id),
      "an edit": () => session.updateMessage(second),
      "a delete": async () => session.deleteMessages([(await session.getLatestLeaf())?.id ?? ""]),
    };
    // What a connection did is counted within a second, or when the server is asked to.
    const readByIndex = async (): Promise<number> => {
      await flush();
      const [row] = await server.query(
        url,
        "SELECT sum(idx_tup_read)::int AS read FROM pg_stat_user_indexes WHERE relname = 'assistant_messages'",
      );
      return row?.read as number;
    };
    const rowsRead = async () => {
      const found: Record<string, number> = {};
      for (const [name, call] of Object.entries(calls)) {
        const before = await readByIndex();
        await call();
        found[name] = (await readByIndex()) - before;
      }
      return found;
    };
    // Postgres keeps the plan of a statement's sixth run.
    for (let run = 0; run < 6; run += 1) await rowsRead();
    const short = await rowsRead();
    for (let batch = 0; batch < 20; batch += 1) await session.appendAll(fresh(100));
    const long = await rowsRead();
    await end();
    const more = Object.entries(long).filter(([name, rows]) => rows > (short[name] as number) + 20);
    expect({ short, more }).toEqual({ short, more: [] });
  });
});
