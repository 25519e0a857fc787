import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { postgres } from "../../packages/postgres/src/postgres.js";
import type { Store } from "../../packages/store/src/index.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { dumpSchema } from "../postgres/target.js";
import { openDatabase } from "../store/databases.js";
import { dumpTables } from "../store/file-target.js";

/** Where a call is made, past all servers. */
export interface Place {
  /** The tenant whose store it is. */
  readonly tenant: string;
  open(): Store;
  /** All rows, by table. */
  dump(): Promise<Readonly<Record<string, readonly unknown[]>>>;
  remove(): Promise<void>;
}

/** Gives places that hold what was prepared. */
export interface Places {
  prepare(work: (store: Store) => Promise<void>): Promise<void>;
  copy(): Promise<Place>;
}

/** Files of a folder, each named after its tenant. */
export function filePlaces(folder: string): Places {
  let count = 0;
  const pathOf = (tenant: string) => join(folder, `${tenant}.db`);
  const prepared = pathOf("prepared");
  return {
    prepare: async (work) => {
      removeFile(prepared);
      const store = sqlite(prepared);
      await work(store);
      await store.close();
    },
    copy: async () => {
      // A server may have the one before open still.
      const tenant = `called-${count++}`;
      const path = pathOf(tenant);
      copyFileSync(prepared, path);
      return {
        tenant,
        open: () => sqlite(path),
        dump: async () => {
          const client = openDatabase(path);
          try {
            return dumpTables(client);
          } finally {
            client.close();
          }
        },
        remove: async () => removeFile(path),
      };
    },
  };
}

function removeFile(path: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(path + suffix, { force: true });
}

/** Schemas of a database, each named after its tenant as `stemma serve` has it. What was prepared comes again by its rows. */
export function schemaPlaces(url: string): Places {
  let count = 0;
  let tenant = "";
  const query = async (sql: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client(url);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const schemaOf = () => `stemma_${tenant}`;
  const open = () => {
    const pool = new pg.Pool({ connectionString: url });
    const store = postgres(pool, { schema: schemaOf() });
    const { close } = store;
    return Object.assign(store, {
      close: async () => {
        await close();
        await pool.end();
      },
    });
  };
  return {
    prepare: async (work) => {
      tenant = `crashed_${process.pid}_${count++}`;
      const store = open();
      await work(store);
      await store.close();
      await query(`DO $$ DECLARE name text; BEGIN
        CREATE SCHEMA saved_${tenant};
        FOR name IN ${TABLES_OF(schemaOf())} LOOP
          EXECUTE format('CREATE TABLE saved_${tenant}.%I AS TABLE ${schemaOf()}.%I', name, name);
        END LOOP; END $$`);
    },
    copy: async () => {
      // Without its triggers, in whatever order the tables come.
      await query(`DO $$ DECLARE name text; columns text; BEGIN
        SET LOCAL session_replication_role = replica;
        FOR name IN ${TABLES_OF(schemaOf())} LOOP
          EXECUTE format('DELETE FROM ${schemaOf()}.%I', name);
          CONTINUE WHEN to_regclass(format('saved_${tenant}.%I', name)) IS NULL;
          SELECT string_agg(quote_ident(column_name), ',') INTO columns FROM information_schema.columns
            WHERE table_schema = '${schemaOf()}' AND table_name = name AND is_generated = 'NEVER';
          EXECUTE format('INSERT INTO ${schemaOf()}.%I (%s) SELECT %s FROM saved_${tenant}.%I', name, columns, columns, name);
        END LOOP; END $$`);
      return {
        tenant,
        open,
        dump: async () => ({ rows: withoutGaps(await dumpSchema({ query }, schemaOf())) }),
        remove: async () => {},
      };
    },
  };
}

const TABLES_OF = (schema: string) =>
  `SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace('${schema}') AND relkind = 'r'`;

/** The numbers of entries are given by a sequence, of which a write that was rolled back leaves some out. */
function withoutGaps(rows: readonly Record<string, unknown>[]): unknown[] {
  const numberOf = ({ name, row }: Record<string, unknown>) =>
    /search/.test(String(name)) ? Number(/"n": (\d+)/.exec(String(row))?.[1] ?? 0) : 0;
  const numbers = [...new Set(rows.map(numberOf))].sort((a, b) => a - b);
  return rows.map((each) => ({
    ...each,
    row: String(each.row).replace(/"n": \d+/, `"n": ${numbers.indexOf(numberOf(each))}`),
  }));
}
