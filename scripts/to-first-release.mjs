// npm install && node scripts/build.mjs && node scripts/to-first-release.mjs <file or URL of Postgres> [schema]
//
// Brings a database whose tables are the last ones before 0.1.0, version 11 on SQLite and 25 on Postgres, to those of the first
// release, whose numbers begin anew. One transaction; whoever else has the database open is to be closed first. Keep a copy.

import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

/**
 * Gives the tables of a file of SQLite the form of `fresh`, a new database with the present tables.
 * @param {import("better-sqlite3").Database} database
 * @param {import("better-sqlite3").Database} fresh
 */
export function upgradeSqlite(database, fresh) {
  database
    .transaction(() => {
      const [{ version }] = database.prepare("SELECT max(version) AS version FROM assistant_schema").all();
      if (version !== 11) throw new Error(`The tables are of version ${version}. This takes those of version 11.`);
      const own =
        "sql IS NOT NULL AND tbl_name NOT LIKE '%\\_fts%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
      const definitions = (type) =>
        fresh.prepare(`SELECT name, sql FROM sqlite_schema WHERE type = ? AND ${own}`).all(type);
      const sqlOf = database.prepare("SELECT sql FROM sqlite_schema WHERE name = ?").pluck();
      for (const { name, sql } of definitions("table")) if (sqlOf.get(name) !== sql) makeAnew(database, name, sql);
      for (const { name, sql } of definitions("index")) if (sqlOf.get(name) === undefined) database.exec(sql);
      database.exec("UPDATE assistant_schema SET version = 1");
    })
    .exclusive();
}

function makeAnew(database, table, sql) {
  const names = database.prepare("SELECT name FROM pragma_table_info(?)").pluck().all(table);
  const highest = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = ?").pluck().get(table);
  database.exec(`ALTER TABLE ${table} RENAME TO before_release; ${sql}`);
  // A store adds it that has an embedder. The vectors are of version 1, and are made anew.
  if (names.includes("vectors")) database.exec(`ALTER TABLE ${table} ADD COLUMN vectors INTEGER NOT NULL DEFAULT 2`);
  const changed = { registered: "coalesce(registered, no)", vectors: "1" };
  const values = names.map((name) => changed[name] ?? name);
  database.exec(`INSERT INTO ${table} (${names}) SELECT ${values} FROM before_release; DROP TABLE before_release`);
  if (sql.includes("AUTOINCREMENT")) {
    database.prepare("DELETE FROM sqlite_sequence WHERE name = ?").run(table);
    database.prepare("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)").run(table, highest ?? 0);
  }
}

/**
 * The script that `schemaSql()` prints, for the tables of version 25.
 * @param {string} printed
 * @param {string} [schema]
 */
export function upgradePostgres(printed, schema) {
  const path = schema === undefined ? "" : `SET LOCAL search_path = "${schema.replaceAll('"', '""')}", public;`;
  return printed.replace(
    "BEGIN;",
    () => `BEGIN;
${path}
LOCK TABLE assistant_schema IN ACCESS EXCLUSIVE MODE;
DO $$ DECLARE found CONSTANT INTEGER := (SELECT max(version) FROM assistant_schema); BEGIN
  IF found <> 25 THEN RAISE EXCEPTION 'The tables are of version %. This takes those of version 25.', found; END IF;
END $$;
UPDATE assistant_sessions SET registered = no WHERE registered IS NULL;
ALTER TABLE assistant_sessions ALTER registered SET NOT NULL, ADD learned INTEGER;
DROP INDEX assistant_sessions_registered, assistant_sessions_change, assistant_sessions_of_user, assistant_sessions_tokens,
  assistant_sessions_cost;
ALTER TABLE cf_agents_search_entries ADD COLUMN valid_from TEXT COLLATE "C", ADD COLUMN valid_to TEXT COLLATE "C",
  ADD COLUMN expires_at TEXT COLLATE "C", ADD COLUMN fact TEXT;
ALTER TABLE assistant_versions ADD COLUMN fact TEXT;
ALTER TABLE assistant_schema ALTER reindex_messages SET DEFAULT 0, ALTER reindex_entries SET DEFAULT 0;
UPDATE assistant_schema SET version = 1;
DO $$ DECLARE f REGPROCEDURE; BEGIN
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'assistant_schema'::regclass AND attname = 'vectors') THEN
    ALTER TABLE assistant_schema ALTER vectors SET DEFAULT 2;
    UPDATE assistant_schema SET vectors = 1;
  END IF;
  -- The script makes them anew. Tables refer to the others.
  FOR f IN SELECT p.oid FROM pg_proc p JOIN pg_class c ON c.relnamespace = p.pronamespace WHERE c.oid = 'assistant_schema'::regclass
    AND p.proname ~ '^assistant_' AND p.proname NOT IN ('assistant_number', 'assistant_vector_signs', 'assistant_spread')
  LOOP EXECUTE 'DROP FUNCTION ' || f; END LOOP;
END $$;`,
  );
}

async function main(target, schema) {
  if (target === undefined) throw new Error("Name a file of SQLite, or a URL of Postgres.");
  const built = (name) => import(`../packages/stemma/dist/${name}.js`);
  if (/^postgres(ql)?:/.test(target)) {
    const [{ default: pg }, { schemaSql }] = await Promise.all([import("pg"), built("postgres")]);
    const client = new pg.Client(target);
    await client.connect();
    const space = schema === undefined ? "current_schema()" : client.escapeLiteral(schema);
    const has = (catalog, name) =>
      `EXISTS (SELECT FROM ${catalog}, pg_namespace s WHERE s.nspname = ${space} AND ${name})`;
    const embeddings = has("pg_class c", "c.relnamespace = s.oid AND c.relname = 'assistant_vectors'");
    const citus = has("pg_proc p", "p.pronamespace = s.oid AND p.proname = 'assistant_spread'");
    const { rows } = await client.query(`SELECT ${embeddings} AS embeddings, ${citus} AS citus`);
    await client.query(upgradePostgres(schemaSql({ schema, ...rows[0] }), schema)).finally(() => client.end());
  } else {
    const [{ default: Database }, { sqlite }] = await Promise.all([import("better-sqlite3"), built("sqlite")]);
    const [database, fresh] = [new Database(target, { fileMustExist: true }), new Database(":memory:")];
    await sqlite(fresh).migrate();
    upgradeSqlite(database, fresh);
    database.close();
  }
  console.log("The database has the tables of the first release.");
}

if (import.meta.url === pathToFileURL(resolve(process.argv[1] ?? "")).href) {
  await main(...process.argv.slice(2)).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
