import pg from "pg";
import { expect, it, vi } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { type RecentHistory, Session, SessionManager } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

// What calls cost in statements, which no busy machine changes. pg sends a statement in one piece and waits for its
// answer, so each is one round trip.

class CountingClient extends pg.Client {
  readonly statements: string[] = [];

  override query(...args: unknown[]): never {
    const [query] = args as [string | { text: string }];
    this.statements.push(typeof query === "string" ? query : query.text);
    return (super.query as (...args: unknown[]) => unknown).apply(this, args) as never;
  }
}

describeServer("on Postgres", (server) => {
  /** A session, and how to count the statements of a call. */
  async function counting() {
    const client = new CountingClient(await server.createDatabase());
    await client.connect();
    const session = Session.create(postgres(client))
      .withContext("memory", { maxTokens: 1100 })
      .withCachedPrompt()
      .onCompaction(async () => null)
      .compactAfter(1_000_000);
    await session.freezeSystemPrompt();
    const count = async (call: () => Promise<unknown>) => {
      client.statements.length = 0;
      await call();
      return client.statements.length;
    };
    return { client, session, count, close: () => client.end() };
  }

  it("a new database is made in few statements, however many versions its tables have had", async () => {
    const client = new CountingClient(await server.createDatabase());
    await client.connect();
    await postgres(client, { schema: "fresh" }).migrate();
    console.log(`the tables of a new database: ${client.statements.length} statements`);
    expect(client.statements.length).toBeLessThan(80);
    await client.end();
  });

  it("an append is one statement, whatever the length of the history and with everything configured", async () => {
    const { session, count, close } = await counting();
    await session.appendMessage(textMessage("first"));
    expect(await count(() => session.appendMessage(textMessage("short")))).toBe(1);
    await session.appendAll(Array.from({ length: 500 }, (_, index) => textMessage(`m${index}`)));
    expect(await count(() => session.appendMessage(textMessage("long")))).toBe(1);
    expect(await count(() => session.appendMessage(textMessage("branch"), "m100"))).toBe(1);
    await close();
  });

  it("an append, a batch and a history of a user are one statement each", async () => {
    const { client, count, close } = await counting();
    const session = Session.create(postgres(client)).forSession("chat").forUser("ada");
    await session.appendMessage(textMessage("first"));
    expect(await count(() => session.appendMessage(textMessage("second")))).toBe(1);
    expect(await count(() => session.appendAll([textMessage("third"), textMessage("fourth")]))).toBe(1);
    expect(await count(() => session.getHistory())).toBe(1);
    expect((await session.getHistory()).map(({ id }) => id)).toEqual(["first", "second", "third", "fourth"]);
    await close();
  });

  it("a batch is one statement", async () => {
    const { session, count, close } = await counting();
    const messages = Array.from({ length: 500 }, (_, index) => textMessage(`m${index}`));
    expect(await count(() => session.appendAll(messages))).toBe(1);
    expect(await session.getPathLength()).toBe(500);
    await close();
  });

  it("the newest messages are one statement, with branches, summaries and a limit of bytes, and of a user", async () => {
    const { client, session, count, close } = await counting();
    const messages = Array.from({ length: 600 }, (_, index) => textMessage(`m${index}`));
    await session.appendAll(messages);
    const newest = async (maxBytes: number, minMessages: number, of: Session = session) => {
      const shown = await of.getHistory();
      let found: RecentHistory | undefined;
      expect(await count(async () => (found = await of.getRecentHistory(maxBytes, { minMessages })))).toBe(1);
      const { messages = [], truncated } = found ?? {};
      expect(messages).toEqual(shown.slice(shown.length - messages.length));
      expect(truncated).toBe(messages.length < shown.length);
      return messages.length;
    };
    expect(await newest(0, 50)).toBe(50);
    expect(await newest(0, 599)).toBe(599);
    expect(await newest(0, 600)).toBe(600);
    expect(await newest(0, 700)).toBe(600);
    expect(await newest(Number.POSITIVE_INFINITY, 1)).toBe(600);
    expect(await newest(10_000, 1)).toBeGreaterThan(50);
    await session.appendMessage(textMessage("branch"), "m300");
    await session.addCompaction("A summary of the beginning.", "m0", "m290");
    expect(await newest(0, 5)).toBe(5);
    expect(await newest(0, 12)).toBe(12);
    expect(await newest(0, 13)).toBe(12);
    const own = Session.create(postgres(client)).forSession("chat").forUser("ada");
    await own.appendAll(messages);
    expect(await newest(0, 50, own)).toBe(50);
    await close();
  });

  it("the newest messages within a limit of bytes bring no media but their own", async () => {
    const { client, session, count, close } = await counting();
    const image = (index: number) => `data:image/png;base64,${String(index).padStart(3, "0").repeat(20_000)}`;
    const messages = Array.from({ length: 20 }, (_, index) => ({
      ...textMessage(`m${index}`),
      parts: [{ type: "file", mediaType: "image/png", url: image(index) }],
    }));
    await session.appendAll(messages);
    let found: RecentHistory | undefined;
    expect(await count(async () => (found = await session.getRecentHistory(150_000)))).toBe(2);
    expect(found?.messages).toEqual(messages.slice(-2));
    expect(found?.truncated).toBe(true);
    const rows = await (client as pg.Client).query(
      "SELECT count(*) AS count FROM assistant_recent('', NULL, 150000, 1)",
    );
    expect(Number(rows.rows[0].count)).toBe(1 + 3 + 1);
    await close();
  });

  it("a history is one statement, with branches and summaries", async () => {
    const { session, count, close } = await counting();
    await session.appendAll(Array.from({ length: 100 }, (_, index) => textMessage(`m${index}`)));
    expect(await count(() => session.getHistory())).toBe(1);
    await session.appendMessage(textMessage("branch"), "m50");
    await session.addCompaction("summary", "m0", "m40");
    expect(await count(() => session.getHistory())).toBe(1);
    expect((await session.getHistory()).length).toBe(12);
    await close();
  });

  it("a search finds its matches and reads them in one statement each, whatever it looks for", async () => {
    const { client, session, count, close } = await counting();
    await session.appendAll(
      Array.from({ length: 100 }, (_, index) => textMessage(`m${index}`, `The weather of day ${index} was fine`)),
    );
    const manager = SessionManager.create(postgres(client));
    await manager.list();
    for (const query of ["weather", "day 7 fine", '"weather of day" fine', "nothing"]) {
      const expected = query === "nothing" ? 1 : 2;
      // More of them while a transaction goes on that is older than what was written, in whatever database of the server.
      await vi.waitFor(
        async () => {
          const all = await count(() => manager.search(query));
          const within = await count(() => session.search(query));
          expect({ query, all, within }).toEqual({ query, all: expected, within: expected });
        },
        { timeout: 10_000 },
      );
    }
    await close();
  });

  it("a flush of an embedder writes 25 vectors of a session with a statement, and takes few others", async () => {
    const { client, session, count, close } = await counting();
    const embedded = postgres(client).withEmbedder({ ...hashingEmbedder({ dimensions: 16 }), batchSize: 500 });
    await session.appendMessage(textMessage("first"));
    await embedded.embeddings.flush();
    await session.appendAll(Array.from({ length: 110 }, (_, index) => textMessage(`m${index}`)));
    expect(await count(() => embedded.embeddings.flush())).toBeLessThan(40);
    const writes = client.statements.filter((sql) => /^\s*(?:INSERT|UPDATE|DELETE)/.test(sql));
    expect(writes.map((sql) => /INTO (\w+)/.exec(sql)?.[1])).toEqual(Array(5).fill("assistant_vectors"));
    await embedded.close();
    await close();
  });
});
