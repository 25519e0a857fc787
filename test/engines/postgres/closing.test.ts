import pg from "pg";
import { expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

describeServer("a store that is closed", (server) => {
  it("first ends the calls that were made before, in their order", async () => {
    const url = await server.createDatabase();
    const store = postgres(url);
    for (const id of ["a", "b"]) await store.session(id).append([textMessage("1")]);
    const calls = [
      ...["2", "3"].map((id) => store.session("a").append([textMessage(id)])),
      store.session("b").append([textMessage("2"), textMessage("3")]),
      store.session("a").path(),
      store.session("b").update(textMessage("1", "changed")),
      store.sessions.count(),
      ...Array.from({ length: 20 }, () => store.search("changed", { limit: 1, sessionId: "b" })),
    ];
    await store.close();
    await Promise.all(calls);
    await expect(store.session("a").path()).rejects.toMatchObject({ code: "STORE_CLOSED" });
    const later = postgres(url);
    for (const id of ["a", "b"]) {
      expect((await later.session(id).path()).messages.map((message) => message.id)).toEqual(["1", "2", "3"]);
    }
    await later.close();
  });

  it("does so where its tables are still to be made, and its calls fail", async () => {
    const store = postgres(await server.createDatabase());
    const calls = [store.migrate(), store.session("a").update(textMessage("1"))];
    await store.close();
    const [made, updated] = await Promise.allSettled(calls);
    expect(made?.status).toBe("fulfilled");
    expect(updated).toMatchObject({ status: "rejected", reason: { code: "MESSAGE_NOT_FOUND" } });
  });

  it("refuses what is called meanwhile, and is closed for whoever waits for it", async () => {
    const store = postgres(await server.createDatabase());
    const appended = store.session("a").append([textMessage("1")]);
    const closings = [store.close(), store.close()];
    const late = [store.session("a").append([textMessage("2")]), store.sessions.count(), store.migrate()];
    for (const call of late) await expect(call).rejects.toMatchObject({ code: "STORE_CLOSED" });
    let isAppended = false;
    void appended.then(() => {
      isAppended = true;
    });
    await closings[1];
    expect(isAppended).toBe(true);
    await closings[0];
  });

  it("refuses a client that nobody connects, and waits for one that is being connected", async () => {
    const client = new pg.Client({ connectionString: await server.createDatabase() });
    const store = postgres(client);
    for (const call of [store.session("a").path(), store.session("a").append([textMessage("1")])]) {
      await expect(call).rejects.toMatchObject({
        code: "STORE_UNSUPPORTED",
        message: expect.stringContaining("client.connect()"),
      });
    }
    const appended = store.session("a").append([textMessage("1")]);
    const connected = client.connect();
    await appended;
    await connected;
    expect((await store.session("a").path()).messages).toHaveLength(1);
    await client.end();
  });

  it("leaves a client of the program's own to other stores", async () => {
    const pool = new pg.Pool({ connectionString: await server.createDatabase() });
    const [one, other] = [postgres(pool), postgres(pool)];
    const appended = one.session("a").append([textMessage("1")]);
    await one.close();
    await appended;
    await other.session("a").append([textMessage("2")]);
    await expect(one.session("a").path()).rejects.toMatchObject({ code: "STORE_CLOSED" });
    expect((await other.session("a").path()).messages).toHaveLength(2);
    await pool.end();
  });
});
