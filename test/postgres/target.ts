import { type PostgresSource, postgres } from "../../src/postgres.js";
import type { Store } from "../../src/storage/contract.js";
import type { StoreTarget } from "../../src/testing.js";

/** A client as a user opens one, and a way past the store to what it holds. */
export interface TestDatabase {
  readonly source: PostgresSource;
  /** The same, calling `before` ahead of each statement; what it throws, the statement throws. */
  readonly failing: (before: (statement: string) => void) => PostgresSource;
  query(sql: string): Promise<Record<string, unknown>[]>;
}

let schemas = 0;

/** A store in a schema of its own for each case, so that one database serves them all. */
export function postgresTarget(name: string, database: () => TestDatabase): StoreTarget {
  const schemaOf = new WeakMap<Store, string>();
  const open = (source: PostgresSource, schema: string): Store => {
    const store = postgres(source, { schema });
    schemaOf.set(store, schema);
    return store;
  };
  const newSchema = () => `s${process.pid}_${++schemas}`;
  return {
    name,
    open: () => open(database().source, newSchema()),
    reopen: (store) => open(database().source, schemaOf.get(store) as string),
    corrupt: async (store, sessionId, messageId) => {
      await database().query(
        `UPDATE ${schemaOf.get(store)}.assistant_messages SET content = left(content, 10)
         WHERE session_id = '${sessionId}' AND id = '${messageId}'`,
      );
    },
    damage: async (store, sql) => {
      const qualified = sql.replace(/\b(?:assistant|cf_agents)_\w+/g, (table) => `${schemaOf.get(store)}.${table}`);
      await database().query(qualified);
    },
    openWithFaults: (before) => open(database().failing(before), newSchema()),
    dump: (store) => dumpSchema(database(), schemaOf.get(store) as string),
  };
}

/** Every row of every table, in a form that equal states agree in. */
async function dumpSchema({ query }: TestDatabase, schema: string): Promise<Record<string, unknown>> {
  const tables = await query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') AND relkind = 'r' ORDER BY 1`,
  );
  const dump: Record<string, unknown> = {};
  for (const { name } of tables) {
    const rows = await query(`SELECT to_jsonb(t)::text AS row FROM ${schema}.${name} t ORDER BY 1`);
    dump[String(name)] = rows.map(({ row }) => row);
  }
  return dump;
}
