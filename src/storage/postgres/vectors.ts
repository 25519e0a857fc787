import { StemmaError } from "../../errors.js";
import { EMBEDDER_TABLE, NO_MODEL, VERSION_COLUMN, type VectorDialect } from "../embeddings/vectors.js";
import { first, run } from "../engine/operation.js";

const TABLES = [
  `ALTER TABLE assistant_schema ADD COLUMN IF NOT EXISTS ${VERSION_COLUMN}`,
  EMBEDDER_TABLE,
  `CREATE TABLE IF NOT EXISTS assistant_vectors (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  n BIGINT NOT NULL UNIQUE REFERENCES assistant_messages (n) ON DELETE CASCADE,
  embedder INTEGER NOT NULL,
  vector REAL[]
)`,
  "CREATE INDEX IF NOT EXISTS vectors_by_embedder ON assistant_vectors (embedder, n)",
  `CREATE OR REPLACE FUNCTION assistant_vectors_edited() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  UPDATE assistant_vectors SET embedder = 0 WHERE n = NEW.n;
  RETURN NULL;
END $$`,
  "DROP TRIGGER IF EXISTS mark_edited_vectors ON assistant_messages",
  `CREATE TRIGGER mark_edited_vectors AFTER UPDATE OF content ON assistant_messages
  FOR EACH ROW EXECUTE FUNCTION assistant_vectors_edited()`,
];

/** What `createTables` and what follows it run, as a script for a console. */
export const VECTOR_TABLES: readonly string[] = [...TABLES, NO_MODEL];

/** Vectors as arrays of 32-bit floats, which pgvector compares where the database has it. */
export const postgresVectors: VectorDialect = {
  *createTables() {
    const row = yield* first<{ may: boolean; role: string }>(
      `SELECT current_user AS role, pg_has_role(relowner, 'USAGE') AS may FROM pg_class WHERE oid = 'assistant_schema'::regclass`,
    );
    if (!row?.may) {
      const message = `The tables of vectors must be created, and role "${row?.role}" may not. Have a role that may run the SQL of schemaSql({ embeddings: true }) from "stemma/postgres", and grant this role SELECT, INSERT, UPDATE and DELETE on the tables.`;
      throw new StemmaError("MIGRATION_REQUIRED", { role: row?.role }, message);
    }
    yield* run("SET LOCAL client_min_messages = warning");
    for (const statement of TABLES) yield* run(statement);
  },
  bound: "?::text::real[]",
  read: "v.vector::text",
  encode: (vector) => `{${vector.join(",")}}`,
  decode: (value) => Float32Array.from(JSON.parse(`[${String(value).slice(1, -1)}]`)),
  *findSimilarity() {
    const found = yield* first<{ has: boolean }>("SELECT to_regtype('vector') IS NOT NULL AS has");
    return found?.has ? "-(v.vector::vector <#> ?::text::real[]::vector)" : null;
  },
};
