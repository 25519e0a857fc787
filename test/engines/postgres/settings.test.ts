import { afterEach, beforeEach, expect, it } from "vitest";
import { type PostgresSource, postgres, schemaSql } from "../../../packages/postgres/src/postgres.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { textMessage } from "../../helpers/messages.js";
import { type OpenDatabase, openClient, openPostgresJs, openWrapped } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";

/** What the owner of a database may have set for whoever connects to it. */
const SETTINGS: readonly (readonly [setting: string, value: string])[] = [
  ["datestyle", "'SQL, DMY'"],
  ["datestyle", "'SQL, MDY'"],
  ["datestyle", "'German, DMY'"],
  ["datestyle", "'Postgres, DMY'"],
  ["datestyle", "'ISO, DMY'"],
  ["timezone", "'Asia/Kathmandu'"],
  ["timezone", "'America/St_Johns'"],
  ["intervalstyle", "'sql_standard'"],
  ["bytea_output", "'escape'"],
  ["standard_conforming_strings", "off"],
  ["array_nulls", "off"],
  ["transform_null_equals", "on"],
  ["extra_float_digits", "-15"],
  ["default_transaction_isolation", "'serializable'"],
  ["default_transaction_isolation", "'repeatable read'"],
  ["default_transaction_deferrable", "on"],
  ["search_path", "extra, public"],
  ["search_path", "missing, extra, pg_catalog, public"],
  ["plpgsql.extra_errors", "'all'"],
  ["plpgsql.variable_conflict", "'use_column'"],
  ["gin_fuzzy_search_limit", "1"],
  ["row_security", "off"],
  ["session_replication_role", "'replica'"],
  ["temp_file_limit", "'0'"],
  ["work_mem", "'64kB'"],
  ["plan_cache_mode", "'force_generic_plan'"],
  ["enable_indexscan", "off"],
  ["statement_timeout", "'60s'"],
  ["lock_timeout", "'60s'"],
  ["idle_in_transaction_session_timeout", "'60s'"],
  ["quote_all_identifiers", "on"],
  ["client_min_messages", "'debug1'"],
  ["client_encoding", "'LATIN1'"],
];

const CLIENTS: Record<string, (url: string) => OpenDatabase | Promise<OpenDatabase>> = {
  "postgres.js": openPostgresJs,
  "one connection of pg": openClient,
  "a connection with execute(text, values)": openWrapped("execute"),
};

const text = "red apples\\ 'x' äß漢 🙂";

describeServer("a database", (server) => {
  let url = "";
  const ends: (() => Promise<unknown>)[] = [];
  const open = (source: string | PostgresSource = url): Store => {
    const store = postgres(source);
    ends.push(() => store.close());
    return store;
  };
  const set = async (setting: string, value: string) =>
    server.query(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET ${setting} = ${value}`);
  const recreate = async (definition: string) => {
    const name = new URL(url).pathname.slice(1);
    await server.query(server.urlFor("postgres"), `DROP DATABASE ${name}`);
    await server.query(server.urlFor("postgres"), `CREATE DATABASE ${name} TEMPLATE template0 ${definition}`);
  };

  beforeEach(async () => {
    url = await server.createDatabase();
    await server.query(url, "CREATE SCHEMA extra");
  });

  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });

  /** Every kind of write and read, and what they show. */
  async function use(store: Store): Promise<void> {
    const before = Date.now();
    const manager = SessionManager.create(store);
    for (const id of ["s", "t", "u"]) {
      const session = Session.create(store).forSession(id).withContext("memory");
      await session.appendAll([textMessage("a", text), textMessage("b", "green pears")]);
      await session.appendMessage(textMessage("c", "yellow lemons"), "a");
      await session.addCompaction("apples", "a", "a");
      await session.replaceContextBlock("memory", text);
    }
    await manager.fork("s", "b", "copy", { id: "copy" });
    const session = Session.create(store).forSession("s").withContext("memory");
    for (const { createdAt } of await session.getTree()) expectNow(createdAt, before);
    for (const { createdAt } of await session.getCompactions()) expectNow(createdAt, before);
    expect((await session.search("pear")).map(({ id }) => id)).toEqual(["b"]);
    expect((await session.search("pear", { after: new Date(before - 60_000) })).map(({ id }) => id)).toEqual(["b"]);
    expect(await session.search("pear", { before: new Date(before - 60_000) })).toEqual([]);
    const first = await manager.listPage({ limit: 2 });
    const second = await manager.listPage({ limit: 2, cursor: first.nextCursor as string });
    expect(second.nextCursor).toBeNull();
    const listed = [...first.sessions, ...second.sessions];
    expect(listed.map(({ id }) => id).sort()).toEqual(["copy", "s", "t", "u"]);
    for (const { created_at, updated_at } of listed)
      for (const time of [created_at, updated_at]) expectNow(time, before);
    const bytes = new Uint8Array([0, 255, 92, 39, 10]);
    const until = before + 3_600_000;
    await store.records.set({ sessionId: "s", label: "l" }, "k", bytes, { expiresAt: until });
    expect((await store.records.get({ sessionId: "s", label: "l" }, "k"))?.value).toEqual(bytes);
    await store.records.set({ sessionId: "s", label: "l" }, "k", bytes, { expiresAt: before - 1 });
    expect(await store.records.get({ sessionId: "s", label: "l" }, "k")).toBeNull();
    expect((await store.check?.({ repair: true }))?.problems).toEqual([]);
    expect((await session.getHistory("b"))[1]).toEqual(textMessage("b", "green pears"));
    expect((await session.expandCompaction((await session.getCompactions())[0]?.id as string))[0]).toEqual(
      textMessage("a", text),
    );
    await session.deleteMessages(["a"]);
    await manager.delete("s");
  }

  it.each(SETTINGS)("holds what it holds elsewhere with %s = %s", async (setting, value) => {
    await set(setting, value);
    await use(open());
  });

  it.each(Object.entries(CLIENTS))("writes times as it likes: %s reads them", async (_, connect) => {
    await set("datestyle", "'German, DMY'");
    const database = await connect(url);
    ends.push(() => database.close());
    await use(open(database.source));
  });

  it.each([
    "LC_COLLATE 'C' LC_CTYPE 'C'",
    "LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR'",
    "LOCALE_PROVIDER icu ICU_LOCALE 'und-u-ks-level1-kn-true-ka-shifted'",
  ])("holds what it holds elsewhere, made with %s", async (locale) => {
    await recreate(`ENCODING 'UTF8' ${locale}`);
    await use(open());
  });

  it.each(["LATIN1", "SQL_ASCII", "EUC_JP"])("is refused where it cannot keep every text: %s", async (encoding) => {
    await recreate(`ENCODING '${encoding}' LC_COLLATE 'C' LC_CTYPE 'C'`);
    const opening = open()
      .session("s")
      .append([textMessage("a", "plain")]);
    await expect(opening).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringContaining(`encoding is ${encoding}`),
    });
  });

  it("that is read-only by default refuses every write alike, and can be read", async () => {
    await open()
      .session("s")
      .append([textMessage("a", "red"), textMessage("b", "green")]);
    await set("default_transaction_read_only", "on");
    const store = open();
    const session = store.session("s");
    const writes = {
      append: () => session.append([textMessage("c", "blue")]),
      several: () => session.append([textMessage("c", "blue"), textMessage("d", "grey")]),
      delete: () => session.delete(["a"]),
      update: () => session.update(textMessage("a", "pink")),
      block: () => store.blocks.set({ sessionId: "s", label: "facts", kind: "block" }, "likes red"),
      record: () => store.records.set({ sessionId: "s", label: "l" }, "k", new Uint8Array()),
      fork: () => store.sessions.fork("s", "b", { id: "copy", name: "copy" }),
      rename: () => SessionManager.create(store).rename("s", "name"),
    };
    for (const write of Object.values(writes)) {
      await expect(write()).rejects.toMatchObject({
        code: "STORE_FAILED",
        message: expect.stringContaining("default_transaction_read_only"),
      });
    }
    expect(await session.count()).toBe(2);
    expect((await session.search("red", { limit: 5 })).map(({ id }) => id)).toEqual(["a"]);
  });

  it("that is read-only by default and has no tables says so", async () => {
    await set("default_transaction_read_only", "on");
    await expect(open().session("s").count()).rejects.toMatchObject({
      code: "MIGRATION_REQUIRED",
      message: expect.stringContaining("default_transaction_read_only"),
    });
  });

  it("whose search path begins with temporary tables says so", async () => {
    await set("search_path", "pg_temp, public");
    await expect(open().session("s").count()).rejects.toMatchObject({
      code: "STORE_UNSUPPORTED",
      message: expect.stringContaining("pg_temp"),
    });
  });

  it("in which the printed script is run with doubtful variables as errors gets the tables", async () => {
    await set("plpgsql.extra_errors", "'all'");
    await server.query(url, schemaSql({ embeddings: true }));
    await use(open());
  });

  it("whose times are written otherwise while a store is open fails, and takes no day for a month", async () => {
    const database = await openClient(url);
    ends.push(() => database.close());
    const store = open(database.source);
    await store.session("s").append([textMessage("a", "red")]);
    await database.query("SET datestyle = 'SQL, DMY'");
    await expect(store.session("s").tree()).rejects.toMatchObject({
      code: "STORE_FAILED",
      message: expect.stringContaining("datestyle"),
    });
  });
});

function expectNow(time: string | Date | undefined, since: number): void {
  expect(new Date(time as string).getTime()).toBeGreaterThanOrEqual(since - 1);
  expect(new Date(time as string).getTime()).toBeLessThan(since + 600_000);
}
