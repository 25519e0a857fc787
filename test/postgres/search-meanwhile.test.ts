import { beforeEach, expect, it, vi } from "vitest";
import { postgres } from "../../src/postgres.js";
import { SessionManager } from "../../src/session.js";
import type { SearchHit, Store } from "../../src/storage/contract.js";
import type { Connection } from "../../src/storage/engine/connection.js";
import { textMessage } from "../helpers/messages.js";
import { describeServer } from "./server.js";

describeServer("a search while others write", (server) => {
  let reading: Store;
  let writing: SessionManager;
  let statements: string[];
  /** What others do between the two statements of a search. */
  let meanwhile: () => Promise<unknown>;

  beforeEach(async () => {
    const url = await server.createDatabase();
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
