import Database from "better-sqlite3";
import type { SqliteClient } from "../../src/sqlite.js";

/** A database as a user opens one to hand it to `sqlite()`. */
export function openDatabase(path = ":memory:"): Database.Database {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = OFF");
  return database;
}

const EXECUTES = new Set<string | symbol>(["run", "all", "get", "iterate"]);

/** The same database, calling `before` ahead of each statement that is executed; what it throws, the statement throws. */
export function failingClient(database: Database.Database, before: (statement: string) => void): SqliteClient {
  const wrap = (statement: Database.Statement): Database.Statement =>
    new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...values: unknown[]) => {
          if (EXECUTES.has(name)) before(target.source);
          const result = value.apply(target, values);
          return result === target ? wrap(target) : result;
        };
      },
    });
  return new Proxy(database, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => wrap(target.prepare(sql));
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  }) as unknown as SqliteClient;
}

/** The definition of every table and its rows, the search index by its terms: equal states have equal dumps. */
export function dumpTables(source: string | Database.Database): Record<string, unknown[]> {
  const database = typeof source === "string" ? new Database(source, { readonly: true }) : source;
  try {
    const schema = database.prepare("SELECT name, type, sql FROM sqlite_master ORDER BY type, name").raw().all();
    const dump: Record<string, unknown[]> = { schema };
    for (const [name, type] of schema as [string, string][]) {
      // How an index lies on its pages may differ where what it holds does not.
      if (type !== "table" || /fts_(?:data|idx|docsize|config|content)$/.test(name)) continue;
      dump[name] = /fts$/.test(name)
        ? terms(database, name)
        : database.prepare(`SELECT * FROM "${name}" ORDER BY 1, 2`).raw().all();
    }
    return dump;
  } finally {
    if (typeof source === "string") database.close();
  }
}

function terms(database: Database.Database, table: string): unknown[] {
  const vocabulary = `temp.vocabulary_of_${table}`;
  database.exec(`CREATE VIRTUAL TABLE IF NOT EXISTS ${vocabulary} USING fts5vocab('main', '${table}', 'instance')`);
  return database.prepare(`SELECT * FROM ${vocabulary} ORDER BY term, doc, "offset"`).raw().all();
}

/** Cuts a stored message short, as a broken disk or a hand edit might. */
export function corruptMessage(path: string, sessionId: string, messageId: string): void {
  const database = new Database(path);
  database
    .prepare("UPDATE assistant_messages SET content = substr(content, 1, 10) WHERE session_id = ? AND id = ?")
    .run(sessionId, messageId);
  database.close();
}
