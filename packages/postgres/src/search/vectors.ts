import { fromBase64, StemmaError } from "@stemma/model";
import { EMBEDDER_TABLE, first, NO_MODEL, run, type VectorDialect, versionColumn } from "@stemma/store";
import { VECTOR_SIGNS } from "../sql/functions.js";
import { SPREAD_NEW } from "../tables/names.js";

const VERSION = 2;

/** So many numbers of a vector have their signs stored: see `vector-signs.sql`. */
const MAX_SIGNS = 16_000;

/** The vectors of the rows of a table, whose key has these columns. A deleted row takes its vector along. */
const vectorTable = (name: string, of: string, key: string) => [
  `CREATE TABLE IF NOT EXISTS ${name} (
  session_id TEXT NOT NULL,
  n BIGINT NOT NULL,
  embedder INTEGER NOT NULL,
  vector REAL[],
  signs BIT VARYING GENERATED ALWAYS AS (assistant_vector_signs(vector)) STORED,
  PRIMARY KEY (session_id, n)
)`,
  // With the signs, so that a search reads no rows of vectors to tell which are likely.
  `CREATE INDEX IF NOT EXISTS ${name}_by_signs ON ${name} (embedder, session_id, n) INCLUDE (signs)`,
  // Before a foreign key refers to tables that are spread.
  SPREAD_NEW,
  `DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = '${name}'::regclass AND contype = 'f') THEN
    ALTER TABLE ${name} ADD CONSTRAINT ${name}_n_fkey FOREIGN KEY (${key}) REFERENCES ${of} (${key}) ON DELETE CASCADE;
  END IF;
END $$`,
];

const TABLES = [
  // First: whoever else makes the tables waits here.
  `ALTER TABLE assistant_schema ADD COLUMN IF NOT EXISTS ${versionColumn(VERSION)}`,
  EMBEDDER_TABLE,
  `DO $$ BEGIN
  IF (SELECT max(vectors) FROM assistant_schema) < ${VERSION} THEN DROP TABLE IF EXISTS assistant_vectors; END IF;
END $$`,
  VECTOR_SIGNS,
  ...vectorTable("assistant_vectors", "assistant_messages", "session_id, n"),
  ...vectorTable("assistant_entry_vectors", "cf_agents_search_entries", "n, session_id"),
  `INSERT INTO assistant_entry_vectors (session_id, n, embedder)
  SELECT session_id, n, 0 FROM cf_agents_search_entries ON CONFLICT DO NOTHING`,
  `UPDATE assistant_schema SET vectors = ${VERSION}`,
];

/** The statements that `createTables` runs, and those behind it, as a script for a console. */
export const VECTOR_TABLES: readonly string[] = [...TABLES, NO_MODEL];

/** Vectors as arrays of 32-bit floats, which pgvector compares where the database has it. */
export const postgresVectors: VectorDialect = {
  version: VERSION,
  *createTables() {
    const query = `SELECT current_user AS role, pg_has_role(relowner, 'USAGE') AS may FROM pg_class WHERE oid = 'assistant_schema'::regclass`;
    const row = yield* first<{ may: boolean; role: string }>(query);
    if (!row?.may) {
      const message = `The tables of vectors must be created, and role "${row?.role}" may not. Have a role that may run the SQL of schemaSql({ embeddings: true }) from "stemma/postgres", and grant this role SELECT, INSERT, UPDATE and DELETE on the tables.`;
      throw new StemmaError("MIGRATION_REQUIRED", { role: row?.role }, message);
    }
    yield* run("SET LOCAL client_min_messages = warning");
    for (const statement of TABLES) yield* run(statement);
  },
  columns: ["vector"],
  bound: ["?::text::real[]"],
  // Its bytes: to write numbers as decimals, and read them, takes several times as long.
  read: "encode(array_send(v.vector), 'base64')",
  // Nine digits tell each number of 32 bits. All digits of the number of 64 bits take three times as long to write.
  encode: (vector) => [`{${Array.from(vector, (x) => x.toPrecision(9)).join(",")}}`],
  decode: numbersOfArray,
  *findSimilarity() {
    const found = yield* first<{ has: boolean }>("SELECT to_regtype('vector') IS NOT NULL AS has");
    // In a subquery, so that the text is read once and not for each row.
    return found?.has ? "-(v.vector::vector <#> (SELECT ?::text::real[]::vector))" : null;
  },
  signs: {
    // In a subquery, as the vector above: the plan that a server keeps of a prepared statement reads the text of a value wherever it stands.
    unlike: "bit_count(v.signs # (SELECT ?::text::bit varying))",
    // The message's number in its session, from where the session's id says.
    spread: "((hashtext(near.session_id) & 65535) + near.n % 268435456)",
    encode: (vector) => Array.from(vector.subarray(0, MAX_SIGNS), (x) => (x > 0 ? "1" : "0")).join(""),
  },
};

/** Of what Postgres sends of an array of one dimension: 20 bytes about it, then the length and the bytes of each number. */
function numbersOfArray(value: unknown): Float32Array {
  const { buffer, byteOffset, byteLength } = fromBase64(String(value));
  const view = new DataView(buffer, byteOffset);
  const numbers = new Float32Array((byteLength - 20) / 8);
  for (let index = 0; index < numbers.length; index += 1) numbers[index] = view.getFloat32(24 + 8 * index);
  return numbers;
}
