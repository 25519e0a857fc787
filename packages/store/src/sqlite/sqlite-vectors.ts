import { signsOf } from "../embeddings/signs.js";
import { EMBEDDER_TABLE, hasVersion, type VectorDialect, versionColumn } from "../embeddings/vector-bytes.js";
import { first, run } from "../engine/operation.js";

const VERSION = 2;

// The index holds the signs, so that a search reads no vectors to tell which are likely.
const vectorTable = (name: string) => [
  `CREATE TABLE ${name} (n INTEGER PRIMARY KEY, embedder INTEGER NOT NULL, vector BLOB, signs TEXT)`,
  `CREATE INDEX ${name}_signs ON ${name} (embedder, n, signs)`,
];

const TABLES = [
  EMBEDDER_TABLE,
  "DROP TABLE IF EXISTS assistant_vectors",
  ...vectorTable("assistant_vectors"),
  `CREATE TRIGGER IF NOT EXISTS assistant_vectors_deleted AFTER DELETE ON assistant_messages BEGIN
     DELETE FROM assistant_vectors WHERE n = OLD.n;
   END`,
  `CREATE TRIGGER IF NOT EXISTS assistant_vectors_edited AFTER UPDATE OF content ON assistant_messages BEGIN
     UPDATE assistant_vectors SET embedder = 0 WHERE n = OLD.n;
   END`,
  "DROP TABLE IF EXISTS assistant_entry_vectors",
  ...vectorTable("assistant_entry_vectors"),
  "INSERT INTO assistant_entry_vectors (n, embedder) SELECT n, 0 FROM cf_agents_search_entries",
  `CREATE TRIGGER IF NOT EXISTS assistant_entry_vectors_added AFTER INSERT ON cf_agents_search_entries BEGIN
     INSERT INTO assistant_entry_vectors (n, embedder) VALUES (NEW.n, 0);
   END`,
  `CREATE TRIGGER IF NOT EXISTS assistant_entry_vectors_edited AFTER UPDATE OF content ON cf_agents_search_entries BEGIN
     UPDATE assistant_entry_vectors SET embedder = 0, vector = NULL, signs = NULL WHERE n = OLD.n;
   END`,
  `CREATE TRIGGER IF NOT EXISTS assistant_entry_vectors_deleted AFTER DELETE ON cf_agents_search_entries BEGIN
     DELETE FROM assistant_entry_vectors WHERE n = OLD.n;
   END`,
];

/** Vectors as blobs of 32-bit floats, which sqlite-vec compares where the database has loaded it. */
export const sqliteVectors: VectorDialect = {
  version: VERSION,
  *createTables(sql) {
    if (!(yield* hasVersion(sql))) yield* run(`ALTER TABLE assistant_schema ADD COLUMN ${versionColumn(VERSION)}`);
    for (const statement of TABLES) yield* run(statement);
    yield* run("UPDATE assistant_schema SET vectors = ?", VERSION);
  },
  columns: ["vector", "signs"],
  bound: ["?", "?"],
  encode: (vector) => [new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), signsOf(vector)],
  read: "v.vector",
  decode: (value) => {
    const bytes = value instanceof ArrayBuffer ? new Uint8Array(value) : (value as Uint8Array);
    // A view of floats must begin at a multiple of their size.
    const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : bytes.slice();
    return new Float32Array(buffer, byteOffset, byteLength / 4);
  },
  *findSimilarity() {
    const found = yield* first("SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine' LIMIT 1");
    return found === undefined ? null : "1 - vec_distance_cosine(v.vector, ?)";
  },
  signs: null,
};
