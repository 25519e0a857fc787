import Database from "better-sqlite3";
import { expect, it } from "vitest";
import { readEntries } from "../../../src/sqlite/index-entries.js";

/** Reads an index of one document that says a word so many times. Gives how many entries were found, and how many steps over others it took. */
function readOne(times: number): { found: number; passed: number } {
  const db = new Database(":memory:");
  db.exec(`CREATE VIRTUAL TABLE f USING fts5(terms, content='', tokenize='ascii');
    CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, f, instance)`);
  db.prepare("INSERT INTO f (rowid, terms) VALUES (1, ?)").run("before ".concat("word ".repeat(times), "zebra"));
  let [found, passed] = [0, 0];
  const reading = readEntries("temp.v", ({ terms }) => {
    found += terms.length;
  });
  for (let step = reading.next([]); !step.done; ) {
    const { sql, values } = step.value;
    passed += Number(values.at(-1));
    step = reading.next(
      db
        .prepare<unknown[]>(sql)
        .raw()
        .all(...values) as never,
    );
  }
  db.close();
  return { found, passed };
}

it("reads a word that stands in an index very often without passing the same entries again and again", () => {
  for (const times of [5, 9_998, 9_999, 20_000, 300_000]) {
    const { found, passed } = readOne(times);
    expect(found).toBe(times + 2);
    expect(passed).toBeLessThanOrEqual(3 * times);
  }
});
