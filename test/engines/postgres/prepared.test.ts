import pg from "pg";
import { afterEach, describe, expect, it } from "vitest";
import { type PostgresOptions, type PostgresSource, postgres } from "../../../packages/postgres/src/postgres.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { textMessage } from "../../helpers/messages.js";
import { openPostgresJs } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

const PREPARED = "SELECT statement FROM pg_prepared_statements";

describeServer("statements that the server keeps prepared", (server) => {
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client(await server.createDatabase());
    await client.connect();
    closing.push(() => client.end());
    return client;
  }
  const sessionOn = (source: PostgresSource, options?: PostgresOptions) =>
    Session.create(postgres(source, options)).forSession("chat");
  const prepared = async (client: pg.Client) =>
    (await client.query(PREPARED)).rows.map(({ statement }) => /assistant_\w+/.exec(statement)?.[0]).sort();

  /** Everything that the session does, so that nothing else is kept. */
  async function work(session: Session): Promise<void> {
    await session.appendMessage(textMessage("a"));
    await session.appendMessage(textMessage("b"));
    await session.appendAll([textMessage("c"), textMessage("d")]);
    await session.updateMessage(textMessage("b", "Edited"));
    await session.getHistory();
    await session.getRecentHistory(1000);
    await session.getPathLength();
    await session.search("edited");
    await session.deleteMessages(["c"]);
  }

  it("are those of appends, histories and searches, once each", async () => {
    const client = await connect();
    const session = sessionOn(client);
    await work(session);
    await session.appendMessage(textMessage("e"));
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a", "b", "d", "e"]);
    expect(await prepared(client)).toEqual(
      ["assistant_path", "assistant_recent", "assistant_matches", "assistant_append_all", "assistant_append"].sort(),
    );
  });

  it("are none on a client of pg where stemma is told so", async () => {
    const client = await connect();
    await work(sessionOn(client, { prepare: false }));
    expect(await prepared(client)).toEqual([]);
  });

  it("are kept on a pool that stemma opens for a URL, unless it is told not to", async () => {
    const url = await server.createDatabase();
    for (const [options, kept] of [
      [{}, true],
      [{ prepare: false }, false],
    ] as const) {
      const named: unknown[] = [];
      const { query } = pg.Client.prototype;
      pg.Client.prototype.query = function (this: pg.Client, ...given: unknown[]) {
        named.push((given[0] as { name?: string }).name);
        return (query as (...args: unknown[]) => unknown).apply(this, given);
      } as typeof query;
      const store = postgres(url, options);
      try {
        await Session.create(store)
          .forSession("chat")
          .appendMessage(textMessage(String(kept)));
      } finally {
        pg.Client.prototype.query = query;
        await store.close();
      }
      expect(named.some((name) => name !== undefined)).toBe(kept);
    }
  });

  it("are given up once they are gone, and the call that finds out is done once", async () => {
    const client = await connect();
    const session = sessionOn(client, { prepare: true });
    await session.appendMessage(textMessage("a"));
    await client.query("DISCARD ALL");
    await session.appendMessage(textMessage("b"));
    await session.appendMessage(textMessage("c"));
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(await prepared(client)).toEqual([]);
  });

  it("are given up where another connection has taken their names, as behind a pooler", async () => {
    const client = await connect();
    await sessionOn(client, { prepare: true }).appendMessage(textMessage("a"));
    // To the driver this is a new connection.
    const { connection } = client as unknown as {
      connection: { parsedStatements: object; submittedNamedStatements: object };
    };
    connection.parsedStatements = {};
    connection.submittedNamedStatements = {};
    const session = sessionOn(client, { prepare: true });
    await session.appendMessage(textMessage("b"));
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("are given up where a statement gives other columns than before", async () => {
    const client = await connect();
    const session = sessionOn(client);
    await session.appendMessage(textMessage("a"));
    expect((await session.getHistory()).length).toBe(1);
    const { rows } = await client.query("SELECT pg_get_functiondef('assistant_append'::regproc) AS definition");
    await client.query("ALTER FUNCTION assistant_append RENAME TO assistant_append_before");
    await client.query(rows[0].definition.replace("RETURNS text", "RETURNS varchar"));
    await session.appendMessage(textMessage("b"));
    await session.appendMessage(textMessage("c"));
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a", "b", "c"]);
  });

  it("never end a transaction of the host's", async () => {
    const client = await connect();
    const session = sessionOn(client, { prepare: true });
    await session.appendMessage(textMessage("a"));
    await client.query("DEALLOCATE ALL");
    await client.query("BEGIN");
    await session.appendMessage(textMessage("b"));
    await client.query("COMMIT");
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["a", "b"]);
  });

  it("leave a refused append as it is", async () => {
    const client = await connect();
    const session = sessionOn(client, { prepare: true });
    for (const parent of ["none", "nobody"]) {
      await expect(session.appendMessage(textMessage("a"), parent)).rejects.toMatchObject({ code: "PARENT_NOT_FOUND" });
    }
    await session.appendMessage(textMessage("a"));
    expect(await prepared(client)).toContain("assistant_append");
  });

  it("go on when the functions are made anew", async () => {
    const client = await connect();
    const session = sessionOn(client, { prepare: true });
    for (let index = 0; index < 7; index += 1) await session.appendMessage(textMessage(`m${index}`));
    const { rows } = await client.query("SELECT pg_get_functiondef('assistant_append'::regproc) AS definition");
    await client.query(rows[0].definition);
    await session.appendMessage(textMessage("last"));
    expect((await session.getHistory()).length).toBe(8);
  });

  describe("with postgres.js", () => {
    it.each([
      [undefined, true],
      [false, false],
    ])("prepare: %s", async (prepare, kept) => {
      const database = openPostgresJs(await server.createDatabase());
      try {
        const manager = SessionManager.create(postgres(database.source, { prepare }));
        await manager.append("chat", textMessage("a"));
        await manager.getSession("chat").updateMessage(textMessage("a", "Edited"));
        const found = await database.query(
          "SELECT count(*) > 0 AS kept FROM pg_prepared_statements WHERE statement LIKE '%assistant%'",
        );
        expect(found).toEqual([{ kept }]);
      } finally {
        await database.close();
      }
    });
  });
});
