import { join } from "node:path";
import type { StoreTarget } from "../../packages/stemma/src/testing.js";
import type { SearchSettings } from "../../packages/store/src/contract/found.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import type { SqliteClient, SqliteStatement } from "../../packages/store/src/sqlite.js";

type Before = (statement: string) => void;
type Rows = Record<string, unknown>[];

/**
 * A store on files of `folder`, for the conformance suite. Nothing here names a SQLite module, so that it serves all of
 * them: `openClient` opens a file as a user would, `openStore` a store on one; `before` is called ahead of each statement.
 */
export function fileTarget(
  name: string,
  folder: string,
  openClient: (path: string) => SqliteClient,
  openStore: (path: string, before?: Before, search?: SearchSettings) => Store,
) {
  const paths = new WeakMap<Store, string>();
  let files = 0;
  const open = (path: string, before?: Before, search?: SearchSettings): Store => {
    const store = openStore(path, before, search);
    paths.set(store, path);
    return store;
  };
  const nextPath = () => join(folder, `${name.replace(/\W+/g, "-")}-${++files}.db`);
  const pathOf = (store: Store) => paths.get(store) as string;
  const withClient = <T>(store: Store, work: (client: SqliteClient) => T): T => {
    const client = openClient(pathOf(store));
    try {
      return work(client);
    } finally {
      client.close();
    }
  };
  return {
    name,
    open: () => open(nextPath()),
    reopen: (store) => open(pathOf(store)),
    corrupt: (store, sessionId, messageId) =>
      withClient(store, (client) => corruptMessage(client, sessionId, messageId)),
    damage: (store, sql) => withClient(store, (client) => void client.prepare(sql).run()),
    openWithFaults: (before) => open(nextPath(), before),
    openWithTools: () => open(nextPath(), undefined, { tools: true }),
    dump: (store) => withClient(store, dumpTables),
  } satisfies StoreTarget;
}

const EXECUTES = new Set<string | symbol>(["run", "all", "get", "iterate", "values"]);

/** The same database, calling `before` ahead of each statement that is executed, and `after` behind it; what they throw, the statement throws. */
export function failingClient<C extends SqliteClient>(database: C, before: Before, after: Before = () => {}): C {
  const wrap = (statement: SqliteStatement, sql: string): SqliteStatement =>
    new Proxy(statement, {
      get(target, name) {
        const value = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...values: unknown[]) => {
          if (EXECUTES.has(name)) before(sql);
          const result = value.apply(target, values);
          if (EXECUTES.has(name)) after(sql);
          return result === target ? wrap(target, sql) : result;
        };
      },
    });
  return new Proxy(database, {
    get(target, name) {
      if (name === "prepare") return (sql: string) => wrap(target.prepare(sql), sql);
      const value = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

/** The definition of every table and its rows, the search index by its terms: equal states have equal dumps. */
export function dumpTables(client: SqliteClient): Record<string, unknown[]> {
  const all = (sql: string) => (client.prepare(sql).all() as Rows).map((row) => Object.values(row));
  const schema = all("SELECT name, type, sql FROM sqlite_master ORDER BY type, name");
  const dump: Record<string, unknown[]> = { schema };
  for (const [name, type] of schema as [string, string][]) {
    // How an index lies on its pages may differ where what it holds does not.
    if (type !== "table" || /fts_(?:data|idx|docsize|config|content)$/.test(name)) continue;
    if (/fts$/.test(name)) {
      const vocabulary = `temp.vocabulary_of_${name}`;
      client
        .prepare(`CREATE VIRTUAL TABLE IF NOT EXISTS ${vocabulary} USING fts5vocab('main', '${name}', 'instance')`)
        .run();
      dump[name] = all(`SELECT * FROM ${vocabulary} ORDER BY term, doc, "offset"`);
    } else {
      dump[name] = all(`SELECT * FROM "${name}"`).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
    }
  }
  return dump;
}

/** Cuts a stored message short, as a broken disk or a hand edit might. */
export function corruptMessage(client: SqliteClient, sessionId: string, messageId: string): void {
  client
    .prepare("UPDATE assistant_messages SET content = substr(content, 1, 10) WHERE session_id = ? AND id = ?")
    .run(...([sessionId, messageId] as never[]));
}
