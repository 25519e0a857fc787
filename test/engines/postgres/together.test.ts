import pg from "pg";
import { afterEach, beforeEach, expect, it } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

const SESSIONS = Array.from({ length: 16 }, (_, index) => `s${index}`);

describeServer("appends to several sessions at once", (server) => {
  let url: string;
  let pool: pg.Pool;
  let store: Store;
  let statements: string[];
  beforeEach(async () => {
    url = await server.createDatabase();
    pool = new pg.Pool({ connectionString: url });
    pool.on("connect", (client) => {
      const { query } = client;
      client.query = ((...given: Parameters<typeof query>) => {
        statements.push(/assistant_\w+/.exec((given[0] as { text?: string }).text ?? "")?.[0] ?? "");
        return query.apply(client, given);
      }) as typeof query;
    });
    statements = [];
    store = postgres(pool);
    for (const id of SESSIONS) await store.session(id).append([textMessage("first")]);
    statements.length = 0;
  });
  afterEach(() => pool.end());

  const append = (id: string, messageId: string, parent?: string) =>
    store.session(id).append([textMessage(messageId)], parent);
  const idsOf = async (id: string) => (await store.session(id).path()).messages.map((message) => message.id);

  it("are one call for three of them, and each gives what it would alone", async () => {
    const alone = await append("s0", "second");
    statements.length = 0;
    const found = await Promise.all(SESSIONS.slice(1).map((id) => append(id, "second")));
    expect(found).toEqual(found.map(() => alone));
    expect(statements).toEqual(Array(5).fill("assistant_append_each"));
    const known = await Promise.all(SESSIONS.map((id) => append(id, "first")));
    expect(known.map(({ insertedIds, stored }) => [insertedIds.length, stored?.id])).toEqual(
      known.map(() => [0, "first"]),
    );
    for (const id of SESSIONS) expect(await idsOf(id)).toEqual(["first", "second"]);
    expect(await store.check?.()).toMatchObject({ ok: true });
  });

  it("register sessions, begin branches and keep media as they do alone", async () => {
    await append("s1", "second");
    const media = {
      id: "m",
      role: "user",
      parts: [{ type: "file", mediaType: "image/png", data: "QUJD".repeat(1000) }],
    };
    await Promise.all([
      append("new", "first"),
      append("s1", "branch", "first"),
      store.session("s2").append([media]),
      append("s3", "second"),
    ]);
    expect(await idsOf("new")).toEqual(["first"]);
    expect(await idsOf("s1")).toEqual(["first", "branch"]);
    expect((await store.session("s2").path()).messages.at(-1)).toEqual(media);
    expect(await store.check?.()).toMatchObject({ ok: true });
  });

  it("fail each by itself", async () => {
    const users = SessionManager.create(store.forUser("ada"));
    await users.append("s0", textMessage("of ada"));
    const settled = await Promise.allSettled([
      store
        .forUser("bob")
        .session("s0")
        .append([textMessage("of bob")]),
      append("s1", "second", "nobody"),
      append("s2", "second"),
      users.append("s3", textMessage("of ada")),
    ]);
    const codeOf = (one: PromiseSettledResult<unknown>) => (one.status === "rejected" ? one.reason.code : one.status);
    expect(settled.map(codeOf)).toEqual(["SESSION_OWNED", "PARENT_NOT_FOUND", "fulfilled", "fulfilled"]);
    expect(await Promise.all(["s0", "s1", "s2", "s3"].map(idsOf))).toEqual([
      ["first", "of ada"],
      ["first"],
      ["first", "second"],
      ["first", "of ada"],
    ]);
  });

  it("do not wait for one whose session another program has locked", async () => {
    const other = new pg.Client(url);
    await other.connect();
    await other.query("BEGIN");
    await other.query("SELECT FROM assistant_sessions WHERE id = 's1' FOR UPDATE");
    let isDone = false;
    const waiting = append("s1", "second").then(() => {
      isDone = true;
    });
    await Promise.all(["s0", "s2", "s3"].map((id) => append(id, "second")));
    expect(isDone).toBe(false);
    await other.query("COMMIT");
    await waiting;
    expect(await idsOf("s1")).toEqual(["first", "second"]);
    await other.end();
  });

  it("of several programs never wait for each other in a circle, and lose nothing", async () => {
    const pools = Array.from({ length: 3 }, () => new pg.Pool({ connectionString: url, max: 4 }));
    const orders = [SESSIONS, [...SESSIONS].reverse(), [...SESSIONS].sort()];
    await Promise.all(
      pools.map(async (each, program) => {
        const own = postgres(each);
        for (let turn = 0; turn < 20; turn += 1) {
          const ids = orders[program] as string[];
          await Promise.all(ids.map((id) => own.session(id).append([textMessage(`${program}-${turn}`)])));
        }
      }),
    );
    for (const id of SESSIONS) expect((await idsOf(id)).length).toBe(1 + 3 * 20);
    expect(await store.check?.()).toMatchObject({ ok: true });
    const { rows } = await pool.query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()");
    expect(Number(rows[0].deadlocks)).toBe(0);
    for (const each of pools) await each.end();
  });
});
