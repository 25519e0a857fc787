import { beforeEach, expect, it, vi } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { SearchHit, SearchRequest, Store } from "../../../packages/store/src/contract/store.js";
import type { Connection } from "../../../packages/store/src/engine/connection.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

describeServer("a search while others write", (server) => {
  let url: string;
  let reading: Store;
  let writing: SessionManager;
  let statements: string[];
  /** What others do between the two statements of a search. */
  let meanwhile: () => Promise<unknown>;

  beforeEach(async () => {
    url = await server.createDatabase();
    const other = postgres(url);
    reading = postgres(url);
    writing = SessionManager.create(other);
    for (let session = 0; session < 6; session += 1) {
      const texts = Array.from({ length: 10 }, (_, index) =>
        textMessage(`m${index}`, `The weather of day ${session}${index}`),
      );
      await writing.appendAll(`s${session}`, texts);
    }
    await reading.migrate();
    statements = [];
    meanwhile = async () => {};
    reading.observeStatements?.(<C extends Connection>(connection: C): C => {
      if (connection.kind === "sync") return connection;
      const { query, transaction } = connection;
      return {
        ...connection,
        query: async (statement: Parameters<typeof query>[0]) => {
          const rows = await query(statement);
          statements.push(/assistant_\w+/.exec(statement.sql)?.[0] ?? statement.sql);
          if (statements.length === 1) await meanwhile();
          return rows;
        },
        transaction: (...given: Parameters<typeof transaction>) => {
          statements.push("transaction");
          return transaction(...given);
        },
      };
    });
    return async () => {
      await reading.close();
      await other.close();
    };
  });

  /** What was written while an older transaction goes on, in whatever database of the server, is looked at in a transaction. */
  const withoutTransaction = (work: () => Promise<unknown>) =>
    vi.waitFor(
      async () => {
        statements = [];
        await work();
        expect(statements).not.toContain("transaction");
      },
      { timeout: 10_000 },
    );
  const give = (user: string, ...ids: string[]) =>
    server.query(url, `UPDATE assistant_sessions SET user_id = '${user}' WHERE id = ANY ('{${ids.join(",")}}')`);
  const search = (query: string) => reading.search(query, { limit: 20 });
  const keyOf = ({ sessionId, id, content, coveredBy }: SearchHit) => ({ sessionId, id, content, coveredBy });

  it("is one statement where it shows all that match, and two where there are more", async () => {
    await withoutTransaction(async () => expect(await search("07")).toHaveLength(1));
    expect(statements).toEqual(["assistant_matches"]);
    await withoutTransaction(async () => expect(await search("weather")).toHaveLength(20));
    expect(statements).toEqual(["assistant_matches", "assistant_hits"]);
  });

  it("needs no transaction where others append", async () => {
    meanwhile = () => writing.append("s9", textMessage(crypto.randomUUID(), "The weather of another day"));
    await withoutTransaction(async () => {
      const before = await writing.getSession("s9").getHistory();
      const found = await search("weather");
      expect(found.filter(({ sessionId }) => sessionId === "s9")).toHaveLength(before.length);
    });
  });

  const OF_SOME: Record<string, Partial<SearchRequest>> = {
    "a user": { userId: "ada" },
    "a user's only session": { userId: "bob" },
    "a session that a user may read": { userId: "ada", sessionId: "s1" },
    "a session that is nobody's, for a user": { userId: "ada", sessionId: "s5" },
    "some sessions": { sessionIds: ["s1", "s5", "not there"] },
    "some sessions of a user": { userId: "ada", sessionIds: ["s1", "s2", "s4", "s5"] },
    "sessions with metadata": { sessionMetadata: { kind: "diary" } },
    "a user who has none": { userId: "nobody" },
  };
  const FOUND: Record<string, string[]> = {
    "a user": ["s1", "s2", "s3"],
    "a user's only session": ["s4"],
    "a session that a user may read": ["s1"],
    "a session that is nobody's, for a user": ["s5"],
    "some sessions": ["s1", "s5"],
    "some sessions of a user": ["s1", "s2"],
    "sessions with metadata": ["s2"],
    "a user who has none": [],
  };

  it.each(Object.entries(OF_SOME))("of %s is one statement, or two, as well", async (name, request) => {
    await give("ada", "s1", "s2", "s3");
    await give("bob", "s4");
    await server.query(url, `UPDATE assistant_sessions SET metadata = '{"kind":"diary"}' WHERE id = 's2'`);
    const sessions = FOUND[name] as string[];
    const search = (query: string) => reading.search(query, { limit: 100, ...request });
    await withoutTransaction(async () => {
      expect(await search("weather")).toHaveLength(sessions.length * 10);
    });
    expect(statements).toHaveLength(1);
    await withoutTransaction(async () => {
      const hits = await reading.search("weather", { limit: 5, ...request });
      for (const { sessionId } of hits) expect(sessions).toContain(sessionId);
    });
    expect(statements).toHaveLength(sessions.length === 0 ? 1 : 2);
    expect((await search("15")).map(({ sessionId }) => sessionId)).toEqual(sessions.includes("s1") ? ["s1"] : []);
  });

  it("tells who asks for another user's session so", async () => {
    await give("ada", "s1");
    const denied = { code: "SESSION_OWNED" };
    await expect(reading.search("weather", { limit: 5, sessionId: "s1", userId: "bob" })).rejects.toMatchObject(denied);
    const leftOut = { limit: 5, sessionId: "s1", userId: "ada", sessionIds: ["s2"] };
    expect(await reading.search("weather", leftOut)).toEqual([]);
  });

  it("finds nothing for a query without a word, and in sessions that cannot be", async () => {
    await give("ada", "s1");
    for (const query of ["", "?!", "\0", "\ud800"]) {
      for (const request of [{ userId: "ada" }, { sessionIds: ["s1"] }, { userId: "ada", sessionId: "s1" }])
        expect(await reading.search(query, { limit: 5, ...request })).toEqual([]);
      const others = reading.search(query, { limit: 5, userId: "bob", sessionId: "s1" });
      await expect(others).rejects.toMatchObject({ code: "SESSION_OWNED" });
    }
    for (const odd of ["\0", "\ud800", 'a"b\\', "{s2,s3}", "NULL", ""]) {
      const hits = await reading.search("weather", { limit: 100, sessionIds: ["s1", odd, "s1"] });
      expect([odd, hits.length]).toEqual([odd, 10]);
    }
    expect(await reading.search("weather", { limit: Number.POSITIVE_INFINITY, sessionIds: ["s1"] })).toHaveLength(10);
    expect(await reading.search("weather", { limit: Number.POSITIVE_INFINITY })).toHaveLength(60);
  });

  it("shows a user nothing of a session that became another user's meanwhile", async () => {
    await give("ada", "s1", "s2");
    statements = [];
    meanwhile = async () => {
      await writing.delete("s1");
      for (let index = 0; index < 10; index += 1)
        await writing.forUser("bob").append("s1", textMessage(`m${index}`, "The weather is mine"));
    };
    const found = await reading.search("weather", { limit: 15, userId: "ada" });
    expect(statements).toEqual(["assistant_sessions", "assistant_hits", "transaction"]);
    expect(new Set(found.map(({ sessionId }) => sessionId))).toEqual(new Set(["s2"]));
  });

  const CHANGES: Record<string, (hit: SearchHit) => Promise<unknown>> = {
    "edits a message": ({ sessionId, id }) => writing.getSession(sessionId).updateMessage(textMessage(id, "Nothing")),
    "deletes a message": ({ sessionId, id }) => writing.getSession(sessionId).deleteMessages([id]),
    "deletes a session": ({ sessionId }) => writing.delete(sessionId),
    "summarises messages": ({ sessionId, id }) =>
      writing.getSession(sessionId).addCompaction("What was said.", "m0", id),
  };

  it.each(Object.entries(CHANGES))("is of one state when another program %s", async (_, change) => {
    const [, hit] = await search("weather");
    statements = [];
    meanwhile = () => change(hit as SearchHit);
    const found = await search("weather");
    expect(statements).toEqual(["assistant_matches", "assistant_hits", "transaction"]);
    expect(found.map(keyOf)).toEqual((await search("weather")).map(keyOf));
  });

  it("tells of what covers a message, and of branches, without a transaction", async () => {
    const session = writing.getSession("s1");
    const { id } = await session.addCompaction("What was said.", "m0", "m4");
    await session.appendMessage(textMessage("other", "The weather elsewhere"), "m2");
    const covered = ["m0", "m1", "m2", "m3", "m4"];
    for (const limit of [20, 10]) {
      await withoutTransaction(async () => {
        const hits = await reading.search("weather", { sessionId: "s1", limit });
        expect(hits).toHaveLength(Math.min(limit, 11));
        for (const hit of hits) expect(hit.coveredBy).toEqual(covered.includes(hit.id) ? [id] : []);
      });
    }
  });
});
