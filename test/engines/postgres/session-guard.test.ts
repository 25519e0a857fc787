import type pg from "pg";
import { describe, expect, it } from "vitest";
import { APPEND, APPEND_ALL, EDITED, LOCK, PATH, RECENT, VIEW } from "../../../packages/postgres/src/sql/functions.js";
import { textMessage } from "../../helpers/messages.js";
import { openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";
import { assertNamed, guardPool, guardTarget, held } from "../../postgres/session-guard.js";
import { unnamedTables } from "../../postgres/session-statements.js";
import { postgresTarget } from "../../postgres/target.js";

describe("the guard of statements", () => {
  const check = (text: string, ...values: unknown[]) => assertNamed(text, values, new Set(["one"]));

  it.each([
    ["SELECT n FROM assistant_messages WHERE session_id = $1 AND n = $2", "one", 5],
    [
      "SELECT m.n FROM assistant_compactions c JOIN assistant_messages m ON m.session_id = c.session_id WHERE c.session_id = $1",
      "one",
    ],
    ['INSERT INTO "a".assistant_fts (session_id, n) VALUES ($1, $2)', "one", 5],
    ["UPDATE assistant_sessions SET leaf = $1 WHERE id = $2 AND no = $3", 1, "one", 1],
    ["SELECT 1"],
  ])("passes %s", (text, ...values) => {
    expect(() => check(text, ...values)).not.toThrow();
  });

  it.each([
    ["SELECT n FROM assistant_messages WHERE n = $1", 5],
    ["SELECT n FROM assistant_messages WHERE session_id = $1", "two"],
    [
      "SELECT m.n FROM assistant_compactions c JOIN assistant_messages m ON m.n = c.to_n WHERE c.session_id = $1",
      "one",
    ],
    [
      "SELECT n FROM assistant_messages m WHERE session_id = $1 AND n IN (SELECT r.n FROM assistant_media_refs r)",
      "one",
    ],
    ["INSERT INTO assistant_branches (no, branch) VALUES ($1, $2)", 1, 1],
    ["UPDATE assistant_sessions SET leaf = $1 WHERE no = $2", 1, 1],
    ["DELETE FROM assistant_fts WHERE n BETWEEN $1 AND $2", 1, 2],
  ])("refuses %s", (text, ...values) => {
    expect(() => check(text, ...values)).toThrow("does not say so");
  });

  it.each([
    ["assistant_append", APPEND],
    ["assistant_append_all", APPEND_ALL],
    ["assistant_path", PATH],
    ["assistant_recent", RECENT],
    ["assistant_view", VIEW],
    ["assistant_lock", LOCK],
    ["assistant_edited", EDITED],
  ])("passes each statement of %s", (_, definition) => {
    const statements = definition.slice(definition.indexOf("BEGIN")).split(";");
    expect(statements.length).toBeGreaterThan(2);
    for (const statement of statements) {
      expect(unnamedTables(statement.trim(), (value) => value === "p_session")).toEqual([]);
    }
  });
});

describeServer("the guard of a store's statements", (server) => {
  it("holds those of a session's calls, whatever they wait for, and no others", async () => {
    const database = openPool(server.url);
    const source = guardPool(database.source as pg.Pool);
    const store = await guardTarget(postgresTarget("guarded", () => ({ ...database, source }))).open();
    const statements = async (work: () => Promise<unknown>) => {
      const before = held.count;
      await work();
      return held.count - before;
    };
    const session = store.session("one");
    expect(await statements(() => session.append([textMessage("a", "green apples")], undefined))).toBe(1);
    const both = () => Promise.all([session.update(textMessage("a", "red apples")), session.path()]);
    expect(await statements(both)).toBeGreaterThan(8);
    expect(await statements(() => session.search("apples", { limit: 5 }))).toBeGreaterThan(0);
    expect(await statements(() => session.search("apples", { limit: 5, role: "user" }))).toBeGreaterThan(3);
    expect(await statements(() => store.sessions.fork("one", "a", { id: "two", name: "two" }))).toBeGreaterThan(8);
    expect(await statements(() => store.search("apples", { limit: 5 }))).toBe(0);
    await store.close();
    await database.close();
  });
});
