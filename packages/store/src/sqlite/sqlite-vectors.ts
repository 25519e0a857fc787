import { EMBEDDER_TABLE, hasVersion, type VectorDialect, versionColumn } from "../embeddings/vector-bytes.js";
import { first, run } from "../engine/operation.js";

const VERSION = 1;

const TABLES = [
  EMBEDDER_TABLE,
  // AUTOINCREMENT: a row that was written anew is told from the one before it.
  `CREATE TABLE IF NOT EXISTS assistant_vectors (
     id INTEGER PRIMARY KEY AUTOINCREMENT,
     n INTEGER NOT NULL UNIQUE,
     embedder INTEGER NOT NULL,
     vector BLOB
   )`,
  "CREATE INDEX IF NOT EXISTS assistant_vectors_embedder ON assistant_vectors (embedder, n)",
  `CREATE TRIGGER IF NOT EXISTS assistant_vectors_deleted AFTER DELETE ON assistant_messages BEGIN
     DELETE FROM assistant_vectors WHERE n = OLD.n;
   END`,
  `CREATE TRIGGER IF NOT EXISTS assistant_vectors_edited AFTER UPDATE OF content ON assistant_messages BEGIN
     UPDATE assistant_vectors SET embedder = 0 WHERE n = OLD.n;
   END`,
];

/** Vectors as blobs of 32-bit floats, which sqlite-vec compares where the database has loaded it. */
export const sqliteVectors: VectorDialect = {
  version: VERSION,
  *createTables(sql) {
    if (!(yield* hasVersion(sql))) yield* run(`ALTER TABLE assistant_schema ADD COLUMN ${versionColumn(VERSION)}`);
    for (const statement of TABLES) yield* run(statement);
  },
  bound: "?",
  read: "v.vector",
  encode: (vector) => new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength),
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
