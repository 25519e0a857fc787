import Database from "better-sqlite3";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { checkable } from "../../../packages/store/src/check/store-check.js";
import type { CheckReport, Store } from "../../../packages/store/src/contract/store.js";
import { openSqlStore } from "../../../packages/store/src/sql/sql-store.js";
import { sqliteCheck } from "../../../packages/store/src/sqlite/check.js";
import { connectClient, type SqliteClient } from "../../../packages/store/src/sqlite/client.js";
import { sqliteDialect } from "../../../packages/store/src/sqlite/dialect.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { anyString } from "../../helpers/any-string.js";
import { textMessage } from "../../helpers/messages.js";
import { isStandIn } from "../../runtimes/stand-in.js";

const SESSIONS = 12;
const MESSAGES = 30;
/** Documents of one window: a session's messages stand in several. */
const WINDOW = 17;

/** A store whose check looks at few documents together, and the statements that it ran. */
function open(database: Database.Database, window = WINDOW): { store: Store; statements: string[] } {
  const statements: string[] = [];
  const client = {
    prepare: (sql: string) => {
      const statement = database.prepare(sql);
      if (!statement.reader) return statement;
      const noted = (values: unknown[]) => {
        statements.push(sql);
        return statement.raw(false).all(...values);
      };
      return { all: (...values: unknown[]) => noted(values), run: statement.run.bind(statement) };
    },
    close: () => database.close(),
  };
  const dialect = sqliteDialect({ name: "sqlite", maxTextBytes: 1e9, search: true, indexesLater: true });
  const connection = connectClient(client as unknown as SqliteClient);
  const check = sqliteCheck({ schema: "temp", integrity: true });
  const opened = openSqlStore(connection, dialect, { transactions: true, durable: false });
  const { store } = checkable(opened, { ...check, window: { messages: window, entries: window } });
  return { store, statements };
}

async function fill(store: Store): Promise<void> {
  for (let session = 0; session < SESSIONS; session += 1) {
    const messages = Array.from({ length: MESSAGES }, (_, index) =>
      textMessage(`m${index}`, `a garden with roses ${session} ${index} ${"x".repeat(index % 5)}`),
    );
    await Session.create(store).forSession(`s${session}`).appendAll(messages);
  }
  await store.search("roses", { limit: 1 });
}

const looksAt = (statements: readonly string[]) =>
  statements.filter((sql) => /FROM assistant_check_messages WHERE/.test(sql)).length;

const ROWS = "SELECT n FROM assistant_messages ORDER BY n LIMIT 1 OFFSET";
const contentOf = (row: number) => `(SELECT content FROM assistant_messages WHERE n = (${ROWS} ${row}))`;

const DAMAGES: Record<string, string[]> = {
  "two documents of one window in each other's place": [
    "CREATE TEMP TABLE held AS SELECT content FROM assistant_messages ORDER BY n LIMIT 1 OFFSET 40",
    `UPDATE assistant_messages SET content = ${contentOf(41)} WHERE n = (${ROWS} 40)`,
    `UPDATE assistant_messages SET content = (SELECT content FROM held) WHERE n = (${ROWS} 41)`,
  ],
  "the same text in another document": [
    `UPDATE assistant_messages SET content = ${contentOf(41)} WHERE n = (${ROWS} 40)`,
  ],
  "a document of no message": ["INSERT INTO assistant_fts (rowid, terms) VALUES (7, 'roses')"],
  "a document behind the last": ["INSERT INTO assistant_fts (rowid, terms) VALUES (9007199254740000, 'roses')"],
  "a document that is gone": [`DELETE FROM assistant_fts WHERE rowid = (${ROWS} 100)`],
  "a document of another length": [`UPDATE assistant_fts_docsize SET sz = x'07' WHERE id = (${ROWS} 100)`],
  "a length that is no number": [`UPDATE assistant_fts_docsize SET sz = x'81' WHERE id = (${ROWS} 100)`],
  "a document without a length": [`DELETE FROM assistant_fts_docsize WHERE id = (${ROWS} 100)`],
  "a length without a document": [
    "INSERT INTO assistant_fts_docsize (id, sz, origin) SELECT 7, sz, origin FROM assistant_fts_docsize LIMIT 1",
  ],
  "a count that is too small": ["UPDATE assistant_fts_data SET block = x'0101' WHERE id = 1"],
  "a page that is no page": ["UPDATE assistant_fts_data SET block = x'00' WHERE id > 10"],
};

describe.skipIf(isStandIn)("an index that is looked at in several windows", () => {
  it("is read once where it is right, and tells how many documents there are", async () => {
    const { store, statements } = open(new Database(":memory:"));
    await fill(store);
    statements.length = 0;
    const report = (await store.check?.()) as CheckReport;
    expect(report).toMatchObject({ ok: true, problems: [], checked: { assistant_fts: SESSIONS * MESSAGES } });
    expect(looksAt(statements)).toBe(1);
    await store.close();
  });

  it.each(Object.entries(DAMAGES))("is found to have %s, as in one window, and mended", async (_, damages) => {
    const database = new Database(":memory:");
    const whole = open(database, 1_000_000);
    await fill(whole.store);
    database.unsafeMode(true);
    for (const damage of damages) expect(database.prepare(damage).run()).toBeDefined();
    const bytes = database.serialize();
    const expected = await open(new Database(bytes), 1_000_000).store.check?.();
    const { store } = open(new Database(bytes));
    const report = (await store.check?.()) as CheckReport;
    expect(report.ok).toBe(false);
    const rowsOf = ({ problems = [] }: Partial<CheckReport> = {}) =>
      problems.map(({ table, sessionId, id }) => [table, sessionId, id].join()).sort();
    expect(new Set(rowsOf(report))).toEqual(new Set(rowsOf(expected)));
    const repaired = (await store.check?.({ repair: true })) as CheckReport;
    expect(repaired.problems.filter((problem) => !problem.repaired)).toEqual([]);
    expect(await store.check?.()).toMatchObject({ ok: true, problems: [] });
    await store.close();
  });

  it("is looked at again where only a part is wrong", async () => {
    const database = new Database(":memory:");
    const { store, statements } = open(database);
    await fill(store);
    database.prepare(`DELETE FROM assistant_fts WHERE rowid = (${ROWS} 100)`).run();
    statements.length = 0;
    expect(await store.check?.()).toMatchObject({ ok: false, checked: { assistant_fts: SESSIONS * MESSAGES } });
    // Of all, three glances at the part, and one in a transaction.
    expect(looksAt(statements)).toBe(5);
    await store.close();
  });

  it("is right with messages that are not indexed yet, and with those that others write meanwhile", async () => {
    const { store } = open(new Database(":memory:"));
    await fill(store);
    let isChecked = false;
    let writes = 0;
    const writing = (async () => {
      for (; !isChecked; writes += 1) {
        const session = Session.create(store).forSession(`s${writes % SESSIONS}`);
        await session.appendMessage(textMessage(`late${writes}`, `late roses ${writes}`));
        await session.deleteMessages([`m${writes % MESSAGES}`]);
        if (writes % 3 === 0) await store.search("late", { limit: 1 });
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    })();
    for (let round = 0; round < 5 || writes <= 10; round += 1) expect((await store.check?.())?.problems).toEqual([]);
    isChecked = true;
    await writing;
    expect((await store.check?.())?.problems).toEqual([]);
    await store.close();
  });
});

it("finds an index right that holds terms of any characters, of a message of any size", async () => {
  const texts = fc.sample(anyString({ maxLength: 80 }), { numRuns: 400, seed: 7 });
  const messages = texts.map((text, index) => textMessage(`m${index}`, text.toWellFormed()));
  const store = sqlite(":memory:");
  const session = Session.create(store);
  const appended = [
    ...messages,
    textMessage("quotes", "don't 'quote' o\u2019clock \0 null\0byte İstanbul ẞ ﬀ Ⅷ ½ x\u0301y"),
    // Cut within a character.
    textMessage("cut", `a${"\u0301".repeat(998)}\u{10428}tail`),
    textMessage("long", `${"word ".repeat(200_000)}${"會話".repeat(10_000)}`),
  ];
  await session.appendAll(appended);
  await session.search("word");
  expect(await store.check?.()).toMatchObject({ ok: true, problems: [], checked: { assistant_fts: appended.length } });
  await store.close();
});

it("finds an index right whose terms SQLite orders otherwise than JavaScript does", async () => {
  const store = sqlite(":memory:");
  await Session.create(store).appendMessage(textMessage("wide", `${"\uff11 ".repeat(10_001)}\u{20bb7}\u91ce\u5bb6`));
  await store.search("word", { limit: 1 });
  expect(await store.check?.()).toMatchObject({ ok: true, problems: [], checked: { assistant_fts: 1 } });
  await store.close();
});
