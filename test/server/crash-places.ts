import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { once } from "../../packages/model/src/index.js";
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

/** A schema of a database, named after its tenant as `stemma serve` has it. What was prepared comes again by its rows. */
export function schemaPlaces(url: string): Places {
  const tenant = `crashed_${process.pid}_${++schemas}`;
  const schema = `stemma_${tenant}`;
  const pool = new pg.Pool({ connectionString: url, allowExitOnIdle: true });
  const query = async (sql: string): Promise<Record<string, unknown>[]> => (await pool.query(sql)).rows;
  const open = () => postgres(pool, { schema });
  const ready = once(async () => {
    await open().migrate();
    await query(`CREATE SCHEMA saved_${tenant}`);
    await query(forEachTable(schema, `CREATE TABLE saved_${tenant}.%1$I (LIKE ${schema}.%1$I INCLUDING GENERATED)`));
    await query(copyRows(schema, `saved_${tenant}`));
    await query(`ALTER SCHEMA saved_${tenant} RENAME TO empty_${tenant}`);
    await query(`CREATE SCHEMA saved_${tenant}`);
    await query(forEachTable(schema, `CREATE TABLE saved_${tenant}.%1$I (LIKE ${schema}.%1$I INCLUDING GENERATED)`));
  });
  return {
    prepare: async (work) => {
      await ready();
      await query(copyRows(`empty_${tenant}`, schema));
      await work(open());
      await query(copyRows(schema, `saved_${tenant}`));
    },
    copy: async () => {
      await query(copyRows(`saved_${tenant}`, schema));
      return {
        tenant,
        open,
        dump: async () => ({ rows: withoutGaps(await dumpSchema({ query }, schema)).map(withTexts) }),
        remove: async () => {},
      };
    },
  };
}

let schemas = 0;

/** A statement for each table of a schema, in which %1$I stands for the table, and %2$s for its columns. */
function forEachTable(schema: string, statement: string): string {
  return `DO $$ DECLARE name text; columns text; BEGIN
    -- Without triggers, in whatever order the tables come.
    SET LOCAL session_replication_role = replica;
    FOR name, columns IN
      SELECT relname, string_agg(quote_ident(attname), ',') FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
      WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r' AND attnum > 0 AND NOT attisdropped
        AND attgenerated = '' GROUP BY relname
    LOOP EXECUTE format('${statement}', name, columns); END LOOP; END $$`;
}

function copyRows(from: string, to: string): string {
  return forEachTable(from, `DELETE FROM ${to}.%1$I; INSERT INTO ${to}.%1$I (%2$s) SELECT %2$s FROM ${from}.%1$I`);
}

/** The numbers of entries are given by a sequence, of which a write that was rolled back leaves some out. */
function withoutGaps(rows: readonly Record<string, unknown>[]): { readonly row: string }[] {
  const numberOf = ({ name, row }: Record<string, unknown>) =>
    /search/.test(String(name)) ? Number(/"n": (\d+)/.exec(String(row))?.[1] ?? 0) : 0;
  const numbers = [...new Set(rows.map(numberOf))].sort((a, b) => a - b);
  return rows.map((each) => ({
    ...each,
    row: String(each.row).replace(/"n": \d+/, `"n": ${numbers.indexOf(numberOf(each))}`),
  }));
}

/** Bytes as the texts that they are. */
function withTexts({ row, ...rest }: { readonly row: string }): unknown {
  const text = row.replace(/"\\\\x([0-9a-f]*)"/g, (_, bytes) => Buffer.from(bytes, "hex").toString());
  return { ...rest, row: text };
}
