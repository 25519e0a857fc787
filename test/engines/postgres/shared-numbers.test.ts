// Sessions that were registered in the same minute, and so have the same number.
import { beforeEach, expect, it } from "vitest";
import { imageMessage } from "../../../packages/conformance/src/messages/fidelity.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session } from "../../../packages/stemma/src/session.js";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import type { EmbeddedStore } from "../../../packages/store/src/embeddings/contract.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

const IDS = Array.from({ length: 12 }, (_, index) => `session ${index}`);

describeServer("sessions that share a number", (server) => {
  let url = "";
  let store: EmbeddedStore;
  beforeEach(async () => {
    url = await server.createDatabase();
    store = postgres(url).withEmbedder(hashingEmbedder());
    await store.migrate();
    // A clock that stands still, far ahead.
    await server.query(
      url,
      "CREATE OR REPLACE FUNCTION assistant_number() RETURNS BIGINT LANGUAGE sql AS 'SELECT 33554431::bigint'",
    );
    for (const id of IDS) {
      const session = Session.create(store).forSession(id);
      await session.appendAll([textMessage("a", `green apples of ${id}`), textMessage("b", "red pears")]);
      await session.appendMessage(imageMessage("c", 1));
      await session.appendMessage(textMessage("d", `plums of ${id}`), "a");
    }
    await store.embeddings.flush();
    return () => store.close();
  });

  const found = async (query: string) =>
    (await store.search(query, { limit: 50 })).map(({ sessionId }) => sessionId).sort();

  it("are found, each by its own messages", async () => {
    expect(new Set(await found("apples"))).toEqual(new Set(IDS));
    const [hit] = await store.search("plums 7", { limit: 1, context: 1 });
    expect([hit?.sessionId, hit?.context?.before.map(({ id }) => id)]).toEqual(["session 7", ["a"]]);
    const within = await store.session("session 3").search("apples pears", { limit: 9 });
    expect(new Set(within.map(({ sessionId }) => sessionId))).toEqual(new Set(["session 3"]));
    const some = await store.search("apples", { limit: 50, sessionIds: ["session 1", "session 2"] });
    expect(new Set(some.map(({ sessionId }) => sessionId))).toEqual(new Set(["session 1", "session 2"]));
    const one = await store.search("apples", { limit: 50, sessionIds: ["session 1"] });
    expect(new Set(one.map(({ sessionId }) => sessionId))).toEqual(new Set(["session 1"]));
  });

  it("are listed, counted, forked and deleted one by one", async () => {
    const listed = await store.sessions.list({ orderBy: "registered", limit: 5 });
    expect(listed.sessions.map(({ id }) => id)).toEqual(IDS.slice(-5).reverse());
    await store.sessions.fork("session 3", "b", { id: "fork", name: "fork" });
    await store.embeddings.flush();
    const before = await found("apples");
    const { deleted, remaining } = await store.sessions.delete("session 3");
    expect([deleted.messages, deleted.indexed, deleted.vectors, deleted.media]).toEqual([4, 4, 4, 1]);
    expect(new Set(Object.values(remaining))).toEqual(new Set([0]));
    const gone = new Set(before.filter((id) => id !== "session 3"));
    expect(new Set(await found("apples"))).toEqual(gone);
    expect((await store.session("fork").path()).messages.map(({ id }) => id)).toEqual(["a", "b"]);
    await store.sessions.prune("session 4", { keepMessages: 1, limit: 100 });
    expect(await store.session("session 4").count()).toBe(1);
    expect(await store.session("session 5").count()).toBe(4);
    expect((await store.check?.())?.problems).toEqual([]);
  });

  it("are mended one by one, and indexed anew", async () => {
    await server.query(
      url,
      `DELETE FROM assistant_fts WHERE session_id = 'session 2';
       UPDATE assistant_sessions SET leaf = 5 WHERE id = 'session 6';
       DELETE FROM assistant_sessions WHERE id = 'session 8'`,
    );
    const rules = new Set((await store.check?.())?.problems.map(({ rule }) => rule));
    expect(["index", "session", "place"].every((rule) => rules.has(rule as "index"))).toBe(true);
    expect((await store.check?.({ repair: true }))?.ok).toBe(true);
    expect((await store.check?.())?.problems).toEqual([]);
    for (const id of IDS) expect([id, await store.session(id).count()]).toEqual([id, 4]);
    await server.query(url, "DELETE FROM assistant_fts; UPDATE assistant_schema SET reindex_messages = 0");
    const again = postgres(url);
    expect(await again.search("apples", { limit: 50 })).toHaveLength(IDS.length);
    expect((await again.check?.())?.problems).toEqual([]);
    await again.close();
  });

  it("get it where a role may write to the tables, and no more", async () => {
    await server.query(
      url,
      `DROP ROLE IF EXISTS registrar; CREATE ROLE registrar LOGIN;
       GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO registrar`,
    );
    const other = postgres(url.replace("postgres@", "registrar@"));
    await other.session("new").append([textMessage("a", "apples")], undefined);
    const numbers = "SELECT count(*)::int AS sessions, count(DISTINCT no)::int AS numbers FROM assistant_sessions";
    expect(await server.query(url, numbers)).toEqual([{ sessions: IDS.length + 1, numbers: 1 }]);
    await other.close();
  });

  it("have the vector of an edited message marked by the statement that edits it, and no trigger", async () => {
    await store.close();
    const plain = postgres(url);
    await Session.create(plain).forSession("session 1").updateMessage(textMessage("a", "plums"));
    await plain.close();
    const marked = "SELECT session_id, n FROM assistant_vectors WHERE embedder = 0";
    expect(await server.query(url, marked)).toMatchObject([{ session_id: "session 1" }]);
    expect(await server.query(url, "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")).toEqual([]);
  });

  it("tell that one was registered anew under the id of another, by an open history as well", async () => {
    const own = store.session("session 1");
    await own.append(
      Array.from({ length: 200 }, (_, index) => textMessage(`m${index}`, `old ${index}`)),
      "d",
    );
    const change = await own.change();
    const stream = own.stream({})[Symbol.asyncIterator]();
    const first = await stream.next();
    await store.sessions.delete("session 1");
    await own.append(
      Array.from({ length: 300 }, (_, index) => textMessage(`m${index}`, `new ${index}`)),
      null,
    );
    expect(await own.change()).not.toBe(change);
    const read = [first.value];
    for (let next = await stream.next(); next.done !== true; next = await stream.next()) read.push(next.value);
    expect(read.filter((message) => JSON.stringify(message).includes("new"))).toEqual([]);
  });
});
