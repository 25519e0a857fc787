import pg from "pg";
import postgresJs from "postgres";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type PostgresSource, postgres } from "../../../packages/postgres/src/postgres.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

describeServer("a client of a program's own", (server) => {
  let url = "";
  const ends: (() => Promise<unknown>)[] = [];

  beforeEach(async () => {
    url = await server.createDatabase();
  });

  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });

  const connect = async (): Promise<pg.Client> => {
    const client = new pg.Client(url);
    await client.connect();
    ends.push(() => client.end());
    return client;
  };

  const wraps = {
    "a connection with execute(text, values)": (client: pg.Client) => ({
      execute: (text: string, values?: unknown[]) => client.query(text, values),
    }),
    "a connection with query(text, values)": (client: pg.Client) => ({
      query: (text: string, values: unknown[]) => client.query(text, values),
    }),
    "a client like pg's that does not tell whether it is in a transaction": (client: pg.Client) => ({
      on: () => {},
      query: (config: object) => client.query(config as never),
    }),
    "one connection of pg": (client: pg.Client) => client,
  } as unknown as Record<string, (client: pg.Client) => PostgresSource>;

  it.each(Object.keys(wraps))("leaves the host's transaction to the host: %s", async (name) => {
    const client = await connect();
    const store = postgres((wraps[name] as (client: pg.Client) => PostgresSource)(client));
    await store.migrate();
    const write = async (id: string) => {
      const session = store.session(id);
      await session.append([textMessage("a", "red"), textMessage("b", "green")]);
      await store.blocks.set({ sessionId: id, label: "facts", kind: "block" }, "likes red");
      await session.delete(["a"]);
    };
    await client.query("BEGIN");
    await write("rolled back");
    await client.query("ROLLBACK");
    await client.query("BEGIN");
    await write("committed");
    await client.query("COMMIT");
    await write("alone");
    const other = postgres(url);
    ends.push(() => other.close());
    const { sessions } = await other.sessions.list({});
    expect(sessions.map(({ id }) => id).sort()).toEqual(["alone", "committed"]);
    expect(await other.blocks.get({ sessionId: "rolled back", label: "facts", kind: "block" })).toBeNull();
    expect(await other.session("committed").count()).toBe(1);
  });

  it("is refused where each statement is a transaction by itself, with nothing written", async () => {
    const pool = new pg.Pool({ connectionString: url });
    ends.push(() => pool.end());
    await postgres(pool).migrate();
    // What comes between two statements takes the connection that the first one had.
    const apart = {
      execute: async (text: string, values?: unknown[]) => {
        const client = await connect();
        return client.query(text, values);
      },
    };
    const store = postgres(apart as unknown as PostgresSource);
    const writing = store.blocks.set({ sessionId: "s", label: "facts", kind: "block" }, "likes red");
    await expect(writing).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    expect(await postgres(pool).blocks.get({ sessionId: "s", label: "facts", kind: "block" })).toBeNull();
    // The shape of the function that neon() gives.
    const neon = Object.assign(() => {}, { query: async () => [], unsafe: () => {}, transaction: async () => [] });
    expect(() => postgres(neon as unknown as PostgresSource)).toThrow(
      expect.objectContaining({ code: "STORE_UNSUPPORTED", message: expect.stringContaining("Pool") }),
    );
  });

  it("may be held by another object, as a database of Drizzle and a transaction of it do", async () => {
    const pool = new pg.Pool({ connectionString: url });
    const sql = postgresJs(url, { onnotice: () => {} });
    ends.push(
      () => pool.end(),
      () => sql.end(),
    );
    const execute = () => Promise.reject(new Error("This takes a statement of Drizzle."));
    await postgres({ $client: pool, execute } as unknown as PostgresSource)
      .session("s")
      .append([textMessage("a", "red")]);
    await postgres({ $client: sql, execute } as unknown as PostgresSource)
      .session("s")
      .append([textMessage("b", "green")]);
    const client = await pool.connect();
    await client.query("BEGIN");
    const inside = postgres({ session: { client }, execute } as unknown as PostgresSource);
    await inside.session("s").append([textMessage("c", "blue")]);
    await client.query("ROLLBACK");
    client.release();
    expect(await postgres(pool).session("s").count()).toBe(2);
  });

  it("leaves the host's transaction as it was where a call in it is refused", async () => {
    const client = await connect();
    const sql = postgresJs(url, { onnotice: () => {} });
    ends.push(() => sql.end());
    await postgres(client).migrate();
    const refused = async (inside: PostgresSource) => {
      const session = postgres(inside).session("s");
      await session.append([textMessage("a")]);
      await expect(session.append([textMessage("b")], "none")).rejects.toMatchObject({ code: "PARENT_NOT_FOUND" });
      await expect(session.update(textMessage("b"))).rejects.toMatchObject({ code: "MESSAGE_NOT_FOUND" });
      expect(await session.count()).toBe(1);
    };
    await client.query("BEGIN");
    await refused(client);
    await client.query("ROLLBACK");
    await sql
      .begin(async (transaction) => {
        await refused(transaction);
        throw new RangeError("undo");
      })
      .catch((error: Error) => expect(error.message).toBe("undo"));
    expect(await postgres(client).session("s").count()).toBe(0);
    const reserved = await sql.reserve();
    await postgres(reserved)
      .session("s")
      .append([textMessage("a")]);
    reserved.release();
    expect(await postgres(client).session("s").count()).toBe(1);
  });
});
