// The conformance suite on Bun.SQL, and what becomes of calls when a connection or a transaction ends, run by `node scripts/runtimes.mjs`.

import { afterAll, beforeAll, describe, expect, it } from "bun:test";
import { connect, createServer } from "node:net";
import { SQL } from "bun";
import { postgres } from "../../packages/postgres/src/postgres.js";
import { describeStore } from "../../packages/stemma/src/testing.js";
import { textMessage } from "../helpers/messages.ts";
import { intercepted } from "../postgres/databases.ts";
import { ENGINE, reasonToSkip, startServer } from "../postgres/engines.ts";
import { postgresTarget } from "../postgres/target.ts";

const reason = reasonToSkip(ENGINE);

describe.skipIf(reason !== null)(reason ?? ENGINE.name, () => {
  let server;
  let sql;
  beforeAll(async () => {
    server = await startServer(ENGINE);
    sql = new SQL(server.url, { max: 8 });
  });
  afterAll(async () => {
    await sql?.close();
    await server?.stop();
  });

  const database = () => ({
    source: sql,
    failing: (before) => failing(sql, before),
    query: async (text) => [...(await sql.unsafe(text, []))],
  });
  describeStore(postgresTarget("Bun.SQL", database), { describe, it }, { concurrent: true });

  describe("a store on Bun.SQL", () => {
    let schemas = 0;
    const open = (source = sql) => postgres(source, { schema: `own${schemas}` });
    const newStore = async () => {
      schemas += 1;
      const store = open();
      await store.session("s").append([textMessage("a")]);
      return store;
    };
    const idsOf = async (store) => (await store.session("s").path()).messages.map(({ id }) => id);

    it("keeps every append of several clients that write one session", async () => {
      const store = await newStore();
      const others = [1, 2, 3].map(() => new SQL(server.url, { max: 2 }));
      const ids = Array.from({ length: 60 }, (_, at) => `m${at}`);
      await Promise.all(
        ids.map((id, at) =>
          open(others[at % 3])
            .session("s")
            .append([textMessage(id)]),
        ),
      );
      expect((await idsOf(store)).sort()).toEqual(["a", ...ids].sort());
      for (const other of others) await other.close();
    });

    it("takes a transaction, and a connection that was reserved: operations are savepoints", async () => {
      const store = await newStore();
      const undone = sql.begin(async (transaction) => {
        const inside = open(transaction);
        await inside.session("s").append([textMessage("b")]);
        await inside.session("s").update(textMessage("a", "changed"));
        await expect(inside.session("s").update(textMessage("c"))).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
        await expect(inside.session("s").append([textMessage("c")], "none")).rejects.toMatchObject({
          code: "PARENT_NOT_FOUND",
        });
        expect(await idsOf(inside)).toEqual(["a", "b"]);
        throw new RangeError("undo");
      });
      await expect(undone).rejects.toThrow("undo");
      expect((await store.session("s").path()).messages).toEqual([textMessage("a")]);
      const reserved = await sql.reserve();
      await reserved.unsafe("BEGIN", []);
      await open(reserved).session("s").update(textMessage("a", "changed"));
      await reserved.unsafe("ROLLBACK", []);
      reserved.release();
      expect((await store.session("s").path()).messages).toEqual([textMessage("a")]);
    });

    it("goes on where its connections were ended by the server, or cut in the middle of a statement", async () => {
      const store = await newStore();
      const { port, cut, close } = await startProxy(new URL(server.url).port);
      const other = new SQL(server.url.replace(/:\d+\//, `:${port}/`), { max: 2 });
      const through = open(other);
      expect(await idsOf(through)).toEqual(["a"]);
      await sql.unsafe(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() AND backend_type = 'client backend'",
        [],
      );
      await through.session("s").append([textMessage("b")]);
      for (const at of ["BEGIN", "UPDATE", "assistant_append"]) {
        cut(at);
        await through.session("s").update(textMessage("a", `cut at ${at}`));
        await through.session("s").append([textMessage(at)]);
        expect((await store.session("s").path()).messages[0]).toEqual(textMessage("a", `cut at ${at}`));
      }
      expect(await idsOf(store)).toEqual(["a", "b", "BEGIN", "UPDATE", "assistant_append"]);
      await other.close();
      close();
    });

    it("says what is wrong with a server that does not answer, and with a closed client", async () => {
      const nobody = new SQL("postgres://postgres@127.0.0.1:1/x");
      await expect(open(nobody).session("s").count()).rejects.toMatchObject({ code: "CONNECTION_LOST" });
      const closed = new SQL(server.url);
      await closed.close();
      // Bun says the same of a connection that was lost.
      await expect(open(closed).session("s").count()).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    });

    it("refuses Bun.SQL on another database", () => {
      const code = (url) => {
        try {
          postgres(new SQL(url));
        } catch (error) {
          return error.code;
        }
      };
      expect([code("mysql://a@127.0.0.1/x"), code("sqlite://:memory:")]).toEqual([
        "STORE_UNSUPPORTED",
        "STORE_UNSUPPORTED",
      ]);
    });
  });
});

/** The same, calling `before` ahead of each statement. */
function failing(target, before) {
  return new Proxy(target, {
    get(inner, name) {
      if (name !== "begin") return intercepted(inner, name, before, ["unsafe"]);
      return async (characteristics, work) => {
        before(`BEGIN ${characteristics}`);
        return inner.begin(characteristics, async (connection) => {
          const result = await work(failing(connection, before));
          before("COMMIT");
          return result;
        });
      };
    },
  });
}

/** Passes all on to a server, until a statement that holds the text that is to cut the connection. */
async function startProxy(target) {
  let text = null;
  const proxy = createServer((client) => {
    const server = connect(Number(target), "127.0.0.1");
    const end = () => {
      client.destroy();
      server.destroy();
    };
    for (const socket of [client, server]) socket.on("error", end).on("close", end);
    server.on("data", (data) => client.write(data));
    client.on("data", (data) => {
      if (text === null || !data.includes(text)) return server.write(data);
      text = null;
      end();
    });
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.on("listening", resolve));
  const cut = (at) => {
    text = at;
  };
  return { port: proxy.address().port, cut, close: () => proxy.close() };
}
