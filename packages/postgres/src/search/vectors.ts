import { fromBase64, StemmaError } from "@stemma/model";
import { EMBEDDER_TABLE, first, NO_MODEL, run, type VectorDialect, versionColumn } from "@stemma/store";
import { VECTOR_SIGNS } from "../sql/functions.js";
import { lacks, SPREAD_NEW } from "../tables/names.js";

const VERSION = 3;

/** So many numbers of a vector have their signs stored: see `vector-signs.sql`. */
const MAX_SIGNS = 8_000;

/** Statements of a block that gives vectors a key that begins with the session, which version 3 made otherwise. May be run again. */
export const KEY_VECTORS = `
  IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'assistant_vectors'::regclass AND contype = 'p'
    AND pg_get_constraintdef(oid) = 'PRIMARY KEY (n, session_id)')
  THEN
    ALTER TABLE assistant_vectors DROP CONSTRAINT assistant_vectors_pkey;
    ALTER TABLE assistant_vectors ADD CONSTRAINT assistant_vectors_pkey PRIMARY KEY (session_id, n);
  END IF;
`;

/** Statements of a block that brings vectors of version 2 to version 3: each names its session. May be run again. */
export const NAME_VECTORS = `
  IF ${lacks("assistant_vectors", "session_id")} THEN
    ALTER TABLE assistant_vectors DROP CONSTRAINT IF EXISTS assistant_vectors_n_fkey, ADD COLUMN session_id TEXT;
    UPDATE assistant_vectors v SET session_id = m.session_id FROM assistant_messages m WHERE m.n = v.n;
    DELETE FROM assistant_vectors WHERE session_id IS NULL;
    ALTER TABLE assistant_vectors ALTER COLUMN session_id SET NOT NULL, DROP CONSTRAINT assistant_vectors_pkey,
      DROP CONSTRAINT IF EXISTS assistant_vectors_n_key, ADD PRIMARY KEY (session_id, n);
  END IF;
  IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'assistant_vectors'::regclass AND contype = 'f') THEN
    ALTER TABLE assistant_vectors ADD CONSTRAINT assistant_vectors_n_fkey
      FOREIGN KEY (session_id, n) REFERENCES assistant_messages (session_id, n) ON DELETE CASCADE;
  END IF;
  ALTER TABLE assistant_schema ALTER COLUMN vectors SET DEFAULT ${VERSION};
  UPDATE assistant_schema SET vectors = ${VERSION} WHERE vectors = ${VERSION - 1};
`;

const TABLES = [
  // First: whoever else makes the tables waits here.
  `ALTER TABLE assistant_schema ADD COLUMN IF NOT EXISTS ${versionColumn(VERSION)}`,
  EMBEDDER_TABLE,
  `CREATE TABLE IF NOT EXISTS assistant_vectors (
  id BIGINT GENERATED ALWAYS AS IDENTITY,
  n BIGINT NOT NULL,
  embedder INTEGER NOT NULL,
  vector REAL[],
  session_id TEXT NOT NULL,
  PRIMARY KEY (session_id, n)
)`,
  VECTOR_SIGNS,
  // Since version 2.
  `ALTER TABLE assistant_vectors
  ADD COLUMN IF NOT EXISTS signs BIT VARYING GENERATED ALWAYS AS (assistant_vector_signs(vector)) STORED`,
  "DROP INDEX IF EXISTS vectors_by_embedder",
  // With the signs, so that a search reads no rows of vectors to tell which are likely.
  "CREATE INDEX IF NOT EXISTS vectors_by_signs ON assistant_vectors (embedder, n) INCLUDE (signs)",
  // Before a foreign key refers to tables that are spread.
  SPREAD_NEW,
  // Since version 3.
  `DO $$ BEGIN ${NAME_VECTORS} END $$`,
  `ALTER TABLE assistant_schema ALTER COLUMN vectors SET DEFAULT ${VERSION}`,
  `UPDATE assistant_schema SET vectors = ${VERSION}`,
];

/** The statements that `createTables` runs, and those behind it, as a script for a console. */
export const VECTOR_TABLES: readonly string[] = [...TABLES, NO_MODEL];

// In a subquery, as the vector below: the plan that a server keeps of a prepared statement reads the text of a value wherever it stands.
const SIGNS = "(SELECT ?::text::bit varying)";

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
  bound: "?::text::real[]",
  // Its bytes: to write numbers as decimals, and read them, takes several times as long.
  read: "encode(array_send(v.vector), 'base64')",
  // Nine digits tell each number of 32 bits. All digits of the number of 64 bits take three times as long to write.
  encode: (vector) => `{${Array.from(vector, (x) => x.toPrecision(9)).join(",")}}`,
  decode: numbersOfArray,
  *findSimilarity() {
    const found = yield* first<{ has: boolean }>("SELECT to_regtype('vector') IS NOT NULL AS has");
    // In a subquery, so that the text is read once and not for each row.
    return found?.has ? "-(v.vector::vector <#> (SELECT ?::text::real[]::vector))" : null;
  },
  signs: {
    alike: `(bit_count(v.signs & ${SIGNS}) - bit_count(v.signs & ${SIGNS})) / sqrt(greatest(1, bit_count(v.signs)))`,
    encode: (vector) => {
      const numbers = Array.from(vector.subarray(0, MAX_SIGNS));
      const [above, below] = [1, -1].map((sign) => numbers.map((x) => (x * sign > 0 ? "1" : "0")).join(""));
      // How many signs are the same, and how many are the opposite.
      return [`${above}${below}`, `${below}${above}`];
    },
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
