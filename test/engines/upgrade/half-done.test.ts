import { readFileSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";

const fixture = readFileSync(join(import.meta.dirname, "../..", "fixtures", "agents-0.22.0-wirings.sqlite"));

/** Opens the database as an agent without transactions, whose statement `failAt` fails. Gives how many it ran. */
async function open(database: Database.Database, failAt = 0): Promise<number> {
  let count = 0;
  const sql = <T>(strings: TemplateStringsArray, ...values: (string | number | boolean | null)[]): T[] => {
    count += 1;
    if (count === failAt) throw new Error("The test fails this statement.");
    const statement = database.prepare(strings.join("?"));
    if (statement.reader) return statement.all(...values) as T[];
    statement.run(...values);
    return [];
  };
  const opened = Session.create({ sql }).getMessage("none");
  await (failAt === 0 ? opened : opened.catch(() => {}));
  return count;
}

function contents(database: Database.Database): unknown {
  const all = (query: string) => database.prepare(query).all();
  return {
    messages: all("SELECT session_id, id, parent_id, role, content, created_at FROM assistant_messages ORDER BY 1, n"),
    indexed: all("SELECT count(*) FROM assistant_fts f JOIN assistant_messages m ON m.n = f.rowid"),
    blocks: all("SELECT session_id, kind, label, content FROM cf_agents_context_blocks ORDER BY label"),
    entries: all("SELECT label, key, content FROM cf_agents_search_entries ORDER BY n"),
    indexedEntries: all("SELECT count(*) FROM cf_agents_search_fts f JOIN cf_agents_search_entries e ON e.n = f.rowid"),
    found: all("SELECT count(*) FROM cf_agents_search_fts WHERE cf_agents_search_fts MATCH 'coffee'"),
    old: all("SELECT name FROM sqlite_master WHERE name LIKE '%before_upgrade%'"),
  };
}

it("an upgrade of a database without transactions that was cut off at any statement is completed, with nothing lost", async () => {
  const whole = new Database(fixture);
  const statements = await open(whole);
  const expected = contents(whole);
  for (let failAt = 1; failAt <= statements; failAt += 1) {
    const database = new Database(fixture);
    await open(database, failAt);
    await open(database);
    expect(contents(database), `cut off at ${failAt}`).toEqual(expected);
    database.close();
  }
});
