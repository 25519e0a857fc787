import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, it } from "vitest";
import { isEqual } from "../../../packages/conformance/src/assert.js";
import { SCENARIOS } from "../../../packages/conformance/src/faults/fault-scenarios.js";
import { Workspace } from "../../../packages/conformance/src/workspace.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openDatabase } from "../../store/databases.js";
import { dumpTables, failingClient } from "../../store/file-target.js";

// The suite fails every statement of every public call that writes; here is what comes before any of them.

/**
 * Makes `call` fail at each of its statements in turn, until it succeeds; after each failure the `state` must be what it was.
 * Steps that a call finished before it failed stay, and the next attempt goes on behind them. Gives the number of failures.
 */
async function failEach(
  database: Database.Database,
  call: (client: SqliteClient) => () => unknown,
  state: () => unknown = () => dumpTables(database),
): Promise<number> {
  let at = 0;
  let seen = 0;
  const attempt = call(
    failingClient(database, () => {
      seen += 1;
      if (seen === at) throw new RangeError(`injected at statement ${at}`);
    }),
  );
  let step = finishedSteps(database);
  let before = state();
  for (let failures = 0; ; failures += 1) {
    seen = 0;
    at += 1;
    try {
      await attempt();
      return failures;
    } catch (error) {
      expect(error).toMatchObject({ code: "STORE_FAILED", cause: { message: `injected at statement ${at}` } });
      const after = state();
      const finished = finishedSteps(database);
      if (finished !== step) {
        step = finished;
        before = after;
        at = 0;
      } else if (!isEqual(after, before)) expect(after).toEqual(before);
    }
  }
}

/** What the database records of migrations and of the search index. */
function finishedSteps(database: Database.Database): string {
  const exists = database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'assistant_schema'").get() !== undefined;
  return JSON.stringify(exists ? database.prepare("SELECT * FROM assistant_schema").all() : []);
}

/** What the contract offers that writes nothing. */
const READS = new Set(
  [
    [
      "session",
      "message leaf branches branchIds parent siblings siblingIds path stream lines recent rowStats length count tree messages search",
    ],
    ["session", "compactions originals skills treePage change writes"],
    ["sessions", "get list count unregistered due usage usageRows compactionSums"],
    ["blocks", "get getMany versions list owners"],
    ["entries", "count get search versions labels list removed"],
    ["records", "get list labels"],
  ].flatMap(([family, names = ""]) => names.split(" ").map((name) => `${family}.${name}`)),
);
// It writes down what it measured, and a failure shows in the number that it gives, never in what is stored.
READS.add("session.tokens");

/** The same store, calling `called` with the name of each method of the contract that is called. */
function watched(store: Store, called: (name: string) => void): { store: Store; names: Set<string> } {
  const names = new Set<string>();
  const watch = <T extends object>(family: string, methods: T): T =>
    Object.fromEntries(
      Object.entries(methods).map(([name, method]) => {
        if (typeof method !== "function") return [name, method];
        names.add(`${family}.${name}`);
        const call = (...values: unknown[]) => {
          called(`${family}.${name}`);
          return (method as (...values: unknown[]) => unknown)(...values);
        };
        return [name, call];
      }),
    ) as T;
  const { sessions, blocks, entries, records } = store;
  return {
    store: {
      ...store,
      session: (id) => watch("session", store.session(id)),
      sessions: watch("sessions", sessions),
      blocks: watch("blocks", blocks),
      entries: watch("entries", entries),
      records: watch("records", records),
    },
    names,
  };
}

describe("the cases in which statements fail", () => {
  it("make every call of the contract that writes", async () => {
    const made = new Set<string>();
    let names = new Set<string>();
    for (const scenario of SCENARIOS) {
      let calling = false;
      const open = () => {
        const watching = watched(memory(), (name) => calling && made.add(name));
        ({ names } = watching);
        return watching.store;
      };
      const workspace = await Workspace.open({ name: "watched", open });
      await scenario.prepare(workspace);
      const call = await scenario.call(workspace);
      calling = true;
      await call();
      calling = false;
      await workspace.close();
    }
    expect([...names].filter((name) => !READS.has(name) && !made.has(name))).toEqual([]);
    expect([...READS].filter((name) => !names.has(name))).toEqual([]);
  });
});

describe("a fault at any statement", () => {
  it("of the first migrations leaves the last version that was finished, and the retry succeeds", async () => {
    const database = openDatabase();
    const statements = await failEach(database, (client) => {
      const store = sqlite(client);
      return () => store.migrate();
    });
    expect(statements).toBeGreaterThan(10);
    const session = Session.create(sqlite(database));
    await session.appendMessage(textMessage("a"));
    expect(await session.getHistory()).toEqual([textMessage("a")]);
  });

  it("of a session's very first append leaves nothing, and the retry stores the message once", async () => {
    const database = openDatabase();
    // The tables themselves are made by a transaction of their own.
    const rows = () =>
      Object.entries(dumpTables(database)).filter(
        ([table, of]) => of.length > 0 && /^assistant_(?!schema)/.test(table),
      );
    await failEach(
      database,
      (client) => {
        const session = Session.create(sqlite(client));
        return () => session.appendMessage(textMessage("a"));
      },
      rows,
    );
    expect(await Session.create(sqlite(database)).getHistory()).toEqual([textMessage("a")]);
  });

  it.each(["agents-0.22.0", "agents-0.9.0"])(
    "of the upgrade of a database of %s leaves the last version that was finished, and the retry upgrades it",
    async (fixture) => {
      const [database, undisturbed] = [openFixture(fixture), openFixture(fixture)];
      const statements = await failEach(
        database,
        (client) => {
          const store = sqlite(client);
          return () => store.migrate();
        },
        () => database.serialize().toString("latin1"),
      );
      expect(statements).toBeGreaterThan(100);
      const store = sqlite(undisturbed);
      await store.migrate();
      expect(withoutTimes(dumpTables(database))).toEqual(withoutTimes(dumpTables(undisturbed)));
    },
  );

  it("inside a transaction of the host's undoes the call, and leaves what the host wrote to the host", async () => {
    const database = openDatabase();
    let armed = false;
    const client = failingClient(database, (statement) => {
      if (armed && statement.includes("INTO assistant_unindexed")) throw new RangeError("injected");
    });
    const session = Session.create(sqlite(client));
    await session.appendMessage(textMessage("a"));
    database.exec("CREATE TABLE mine (x); BEGIN; INSERT INTO mine VALUES (1)");
    armed = true;
    await expect(session.appendMessage(textMessage("b"))).rejects.toMatchObject({ code: "STORE_FAILED" });
    armed = false;
    expect(database.inTransaction).toBe(true);
    await session.appendMessage(textMessage("c"));
    database.exec("COMMIT");
    expect(database.prepare("SELECT x FROM mine").pluck().all()).toEqual([1]);
    expect(await session.getHistory()).toEqual([textMessage("a"), textMessage("c")]);
  });

  it("inside a transaction that the host rolls back takes the message along", async () => {
    const database = openDatabase();
    const session = Session.create(sqlite(database));
    await session.appendMessage(textMessage("a"));
    database.exec("BEGIN");
    await session.appendMessage(textMessage("b"));
    database.exec("ROLLBACK");
    expect(await session.getHistory()).toEqual([textMessage("a")]);
  });
});

// Some of each kind of row: every statement of the upgrade is run, and none a thousand times.
function openFixture(name: string): Database.Database {
  const database = new Database(readFileSync(join(import.meta.dirname, "../../fixtures", `${name}.sqlite`)));
  database.exec(`DELETE FROM assistant_messages WHERE rowid NOT IN (
    SELECT rowid FROM (SELECT rowid, row_number() OVER (PARTITION BY session_id ORDER BY rowid) AS place
                       FROM assistant_messages) WHERE place <= 2)`);
  return database;
}

// Rows that the upgrade dates itself differ by the milliseconds between two upgrades.
function withoutTimes(dump: Record<string, unknown[]>): unknown {
  const text = JSON.stringify(dump).replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, '"time"');
  // When a session is registered, in microseconds.
  return JSON.parse(text.replaceAll(/\b\d{16}\b/g, "0"));
}
