import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeOwnServer } from "../../postgres/server.js";

describeOwnServer("a store on a server", (server) => {
  let url = "";
  const stores: Store[] = [];
  const open = (): Store => {
    const store = postgres(url);
    stores.push(store);
    return store;
  };
  const idsOf = async (store: Store, sessionId: string) =>
    (await Session.create(store).forSession(sessionId).getHistory()).map(({ id }) => id);

  beforeEach(async () => {
    url = await server.createDatabase();
  });

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  it("loses and doubles no acknowledged message when the server crashes amid appends, and goes on by itself", async () => {
    const store = open();
    const session = Session.create(store).forSession("s");
    const acknowledged: string[] = [];
    let crashed = false;
    const crash = async () => {
      while (acknowledged.length < 20) await new Promise((resolve) => setTimeout(resolve, 5));
      await server.crash();
      crashed = true;
    };
    const crashing = crash();
    let unknown = 0;
    for (let index = 0; !crashed || index % 20 !== 0; ) {
      const id = `m${index}`;
      try {
        await session.appendMessage(textMessage(id));
        acknowledged.push(id);
        index += 1;
      } catch (error) {
        // Appended again under the same id: whether the first attempt was stored does not matter.
        expect(error).toMatchObject({ code: "CONNECTION_LOST" });
        unknown += 1;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    await crashing;
    expect(acknowledged.length).toBeGreaterThanOrEqual(20);
    expect(await idsOf(store, "s")).toEqual(acknowledged);
    expect(await idsOf(open(), "s")).toEqual(acknowledged);
    expect(unknown).toBeLessThan(200);
  });

  it("lets a session go on while the rows of another one are locked, whose writes wait", async () => {
    const store = open();
    const [one, two] = ["one", "two"].map((id) => Session.create(store).forSession(id)) as [Session, Session];
    await one.appendMessage(textMessage("a"));
    await two.appendMessage(textMessage("a"));
    const holder = new pg.Client(url);
    await holder.connect();
    await holder.query("BEGIN; SELECT FROM assistant_sessions WHERE id = 'one' FOR UPDATE");
    let waits = true;
    const waiting = one.appendMessage(textMessage("b")).then(() => {
      waits = false;
    });
    const elsewhere = Session.create(open()).forSession("two");
    for (const id of ["b", "c", "d"]) await elsewhere.appendMessage(textMessage(id));
    await two.deleteMessages(["b"]);
    // Through the store that writes it, a read would wait for what was written before.
    expect(await idsOf(open(), "one")).toEqual(["a"]);
    expect(waits).toBe(true);
    await holder.query("COMMIT");
    await waiting;
    await holder.end();
    expect([await idsOf(store, "one"), await idsOf(store, "two")]).toEqual([
      ["a", "b"],
      ["a", "c", "d"],
    ]);
  });

  it("reads as a role that may only read, and refuses what that role may not, changing nothing", async () => {
    const role = `reader_${url.split("/").at(-1)}`;
    const session = Session.create(open()).forSession("s").withContext("memory");
    await session.appendAll([textMessage("a"), textMessage("b")]);
    await session.addCompaction("a", "a", "a");
    await session.replaceContextBlock("memory", "User likes fruit.");
    await server.query(url, `CREATE ROLE ${role} LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
    const store = postgres(url.replace("postgres@", `${role}@`));
    stores.push(store);
    const reader = Session.create(store).forSession("s").withContext("memory");
    expect(await reader.getHistory()).toEqual(await session.getHistory());
    expect(await reader.getRecentHistory(10_000)).toEqual(await session.getRecentHistory(10_000));
    expect(await reader.getTree()).toEqual(await session.getTree());
    expect((await reader.search("text")).map(({ id }) => id)).toEqual(
      (await session.search("text")).map(({ id }) => id),
    );
    expect(await reader.freezeSystemPrompt()).toContain("User likes fruit.");
    expect((await SessionManager.create(store).list()).map(({ id }) => id)).toEqual(["s"]);
    const before = await session.getTree();
    for (const write of [
      () => reader.appendMessage(textMessage("c")),
      () => reader.deleteMessages(["a"]),
      () => reader.clearMessages(),
      () => SessionManager.create(store).delete("s"),
    ]) {
      await expect(write()).rejects.toMatchObject({
        code: "STORE_FAILED",
        message: expect.stringContaining("permission denied"),
      });
    }
    await expect(reader.appendContextBlock("memory", "x")).rejects.toThrow();
    expect(await session.getTree()).toEqual(before);
  });

  it("needs no more than one connection, whatever comes at once", async () => {
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const manager = SessionManager.create(postgres(pool)).withContext("memory").withCachedPrompt();
    const ids = Array.from({ length: 20 }, (_, index) => `m${index}`);
    await Promise.all(
      ids.flatMap((id, index) => {
        const session = manager.getSession(`s${index % 3}`);
        const streamed = async () => {
          for await (const _ of session.history()) await session.getMessage(id);
        };
        return [
          session.appendMessage(textMessage(id)),
          session.appendContextBlock("memory", "."),
          session.search("text"),
          streamed(),
        ];
      }),
    );
    await manager.fork("s0", "m0", "copy", { id: "copy" });
    expect((await manager.list()).map(({ id }) => id).sort()).toEqual(["copy", "s0", "s1", "s2"]);
    expect(await idsOf(open(), "s0")).toEqual(ids.filter((_, index) => index % 3 === 0));
    await pool.end();
  });

  it.each(["serializable", "repeatable read"])(
    "tries conflicts again, where transactions are %s unless they say otherwise",
    async (isolation) => {
      await server.query(
        url,
        `ALTER DATABASE ${url.split("/").at(-1)} SET default_transaction_isolation = '${isolation}'`,
      );
      const connections = [open(), open(), open(), open()];
      await Promise.all(
        connections.map(async (store, writer) => {
          const session = Session.create(store).forSession("s").withContext("memory");
          for (let index = 0; index < 15; index += 1) {
            await session.appendMessage(textMessage(`${writer}-${index}`));
            await session.appendContextBlock("memory", `${writer}-${index};`);
          }
        }),
      );
      const ids = await idsOf(open(), "s");
      expect([ids.length, new Set(ids).size]).toEqual([60, 60]);
      const block = await open().blocks.get({ sessionId: "s", kind: "block", label: "memory" });
      expect([block?.content.split(";").filter(Boolean).length, block?.version]).toEqual([60, 60]);
    },
    60_000,
  );
});
