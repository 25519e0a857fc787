import { PACK, signsOf } from "../embeddings/signs.js";
import {
  EMBEDDER_TABLE,
  hasVersion,
  SIGN_TABLES,
  type VectorDialect,
  type VectorTable,
  versionColumn,
} from "../embeddings/vector-bytes.js";
import { first, run } from "../engine/operation.js";

const VERSION = 2;

/**
 * The vectors of a table, and their signs, packed: row by row it takes longer to read these than to compare them. Whatever writes a
 * vector writes its signs: a pack is of the vectors of one model, the last that wrote one.
 */
function vectorTables(name: VectorTable): string[] {
  const packs = SIGN_TABLES[name];
  const begin = (row: string) => `${row}.n % ${PACK} * length(${row}.signs)`;
  const behind = (row: string) => `substr(signs, ${begin(row)} + length(${row}.signs) + 1)`;
  const blanks = (count: string) => `replace(hex(zeroblob(${count})), '00', ' ')`;
  const blank = `UPDATE ${packs} SET signs = rtrim(substr(signs, 1, ${begin("OLD")}) || ${blanks("length(OLD.signs)")} || ${behind("OLD")})
      WHERE pack = OLD.n / ${PACK} AND embedder = OLD.embedder AND OLD.signs IS NOT NULL;
    DELETE FROM ${packs} WHERE pack = OLD.n / ${PACK} AND signs = '';`;
  const before = `substr(signs || ${blanks(`${begin("NEW")} - length(signs)`)}, 1, ${begin("NEW")})`;
  const write = `INSERT INTO ${packs} (pack, embedder, signs)
      SELECT NEW.n / ${PACK}, NEW.embedder, ${blanks(begin("NEW"))} || NEW.signs
      WHERE NEW.signs IS NOT NULL AND NEW.embedder > 0
      ON CONFLICT (pack) DO UPDATE SET embedder = excluded.embedder, signs = CASE WHEN embedder <> excluded.embedder THEN excluded.signs
        ELSE ${before} || NEW.signs || ${behind("NEW")} END;`;
  const trigger = (does: string, when: string, work: string) =>
    `CREATE TRIGGER ${packs}_${does} AFTER ${when} ON ${name} BEGIN\n    ${work}\n  END`;
  return [
    `DROP TABLE IF EXISTS ${name}`,
    `DROP TABLE IF EXISTS ${packs}`,
    `CREATE TABLE ${name} (n INTEGER PRIMARY KEY, embedder INTEGER NOT NULL, vector BLOB, signs TEXT)`,
    `CREATE INDEX ${name}_by_embedder ON ${name} (embedder)`,
    `CREATE TABLE ${packs} (pack INTEGER PRIMARY KEY, embedder INTEGER NOT NULL, signs TEXT NOT NULL)`,
    trigger("added", "INSERT", write),
    trigger("changed", "UPDATE OF embedder, signs", `${blank}\n    ${write}`),
    trigger("deleted", "DELETE", blank),
  ];
}

const TABLES = [
  EMBEDDER_TABLE,
  ...vectorTables("assistant_vectors"),
  `CREATE TRIGGER IF NOT EXISTS assistant_vectors_deleted AFTER DELETE ON assistant_messages BEGIN
     DELETE FROM assistant_vectors WHERE n = OLD.n;
   END`,
  `CREATE TRIGGER IF NOT EXISTS assistant_vectors_edited AFTER UPDATE OF content ON assistant_messages BEGIN
     UPDATE assistant_vectors SET embedder = 0 WHERE n = OLD.n;
   END`,
  ...vectorTables("assistant_entry_vectors"),
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
