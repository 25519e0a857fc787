import { type PostgresSource, postgres } from "../../packages/postgres/src/postgres.js";
import type { StoreTarget } from "../../packages/stemma/src/testing.js";
import type { SearchSettings } from "../../packages/store/src/contract/found.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { Places } from "./places.js";

/** A client as a user opens one, and a way past the store to what it holds. */
export interface TestDatabase {
  readonly source: PostgresSource;
  /** The same, calling `before` ahead of each statement; what it throws, the statement throws. */
  readonly failing: (before: (statement: string) => void) => PostgresSource;
  query(sql: string): Promise<Record<string, unknown>[]>;
}

let count = 0;

export interface TargetOptions {
  /** Gives the name of a new schema. */
  readonly nextSchema?: () => string;
  /** Makes the store in a schema, on the client that is given. */
  readonly openStore?: (source: PostgresSource, schema: string, search?: SearchSettings) => Store;
  /** Says a statement that damages rows as the database takes it. */
  readonly damaging?: (sql: string) => string;
}

/** A store in a schema of its own for each case, so that one database serves them all. */
export function postgresTarget(
  name: string,
  database: () => TestDatabase,
  {
    nextSchema = () => `s${process.pid}_${++count}`,
    openStore = (source, schema, search) => postgres(source, { schema, search }),
    damaging = (sql) => sql,
  }: TargetOptions = {},
): StoreTarget {
  const schemas = new Places(nextSchema, (schema) => emptySchema(database(), schema));
  const open = (source: PostgresSource, schema: string, search?: SearchSettings) =>
    schemas.hold(openStore(source, schema, search), schema);
  return {
    name,
    open: async () => open(database().source, await schemas.take()),
    reopen: (store) => open(database().source, schemas.of(store)),
    corrupt: async (store, sessionId, messageId) => {
      await database().query(
        `UPDATE ${schemas.of(store)}.assistant_messages SET content = left(content, 10)
         WHERE session_id = '${sessionId}' AND id = '${messageId}'`,
      );
    },
    damage: async (store, sql) => {
      const qualified = sql.replace(/\b(?:assistant|cf_agents)_\w+/g, (table) => `${schemas.of(store)}.${table}`);
      await database().query(damaging(qualified));
    },
    openWithFaults: async (before) => open(database().failing(before), await schemas.take()),
    openWithTools: async () => open(database().source, await schemas.take(), { tools: true }),
    dump: (store) => dumpSchema(database(), schemas.of(store)),
  };
}

async function emptySchema({ query }: TestDatabase, schema: string): Promise<void> {
  const tables = await tablesOf(query, schema);
  // What an embedder's first use makes is to be made anew.
  if (tables.includes("assistant_embedder")) {
    await query(
      `DROP TABLE ${schema}.assistant_vectors, ${schema}.assistant_entry_vectors, ${schema}.assistant_embedder`,
    );
    await query(`DROP FUNCTION ${schema}.assistant_vector_signs`);
    await query(`ALTER TABLE ${schema}.assistant_schema DROP COLUMN vectors`);
  }
  const emptied = tables.filter(
    (name) =>
      !["assistant_schema", "assistant_vectors", "assistant_entry_vectors", "assistant_embedder"].includes(name),
  );
  if (emptied.length === 0) return;
  // One statement, so that it is one round trip.
  await query(`DO $$ BEGIN ${emptied.map((name) => `DELETE FROM ${schema}.${name};`).join(" ")} END $$`);
}

async function tablesOf(query: TestDatabase["query"], schema: string): Promise<string[]> {
  const rows = await query(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') AND relkind = 'r' ORDER BY 1`,
  );
  return rows.map(({ name }) => String(name));
}

/** Every row of every table, in a form that equal states agree in. */
export async function dumpSchema(
  { query }: Pick<TestDatabase, "query">,
  schema: string,
): Promise<Record<string, unknown>[]> {
  const each = (await tablesOf(query, schema)).map(
    (name) => `SELECT '${name}' AS name, to_jsonb(t)::text AS row FROM ${schema}.${name} t`,
  );
  return query(`${each.join(" UNION ALL ")} ORDER BY 1, 2`);
}
