import pg from "pg";
import { expect, it } from "vitest";
import { postgres } from "../../src/postgres.js";
import { Session, SessionManager } from "../../src/session.js";
import { textMessage } from "../helpers/messages.js";
import { describeServer } from "./server.js";

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
      // A transaction begins and ends, and a session is looked up by its id.
      const all = await count(() => manager.search(query));
      const within = await count(() => session.search(query));
      expect({ query, all, within }).toEqual({
        query,
        all: query === "nothing" ? 3 : 4,
        within: query === "nothing" ? 4 : 5,
      });
    }
    await close();
  });
});
