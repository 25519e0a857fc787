// npm run bench -- one-user [--user 50000] [--store 1000000] [--postgres] [--cpu] [--vectors <file of float32, 384 each>]
//
// How long a search takes for a user with so many vectors in a store of so many, how long it holds the event loop, and how many of
// the ten nearest of all it compares at all. In the same rounds: all of the user's vectors read and compared, and sqlite-vec.
// Without a file the vectors lie around seeded centres. Others' vectors stand in the tables without messages, which no search
// of this user reads.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import Database from "better-sqlite3";
import pg from "pg";
import * as sqliteVec from "sqlite-vec";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";
import { startServer } from "../postgres-server.mjs";
import { cpuTime } from "../runner.mjs";
import { verify } from "../verify.mjs";

const DIMENSIONS = 384;
const IN_SESSION = 50;
const CENTRES = 2_000;
const QUERIES = 40;
const SESSION = 2 ** 28;

const { values } = parseArgs({
  options: {
    user: { type: "string", default: "50000" },
    store: { type: "string", default: "1000000" },
    postgres: { type: "boolean", default: false },
    vectors: { type: "string" },
    // The process's CPU time in place of the wall clock, for a machine that others use too.
    cpu: { type: "boolean", default: false },
  },
});
const [own, total] = [Number(values.user), Number(values.store)];

let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};
const gauss = () => Math.sqrt(-2 * Math.log(random() + 2 ** -40)) * Math.cos(2 * Math.PI * random());
const unit = (vector) => {
  const size = Math.hypot(...vector);
  return vector.map((number) => number / size);
};
const real = values.vectors === undefined ? null : readFileSync(values.vectors);
const centres =
  real === null
    ? Array.from({ length: CENTRES }, () => unit(Float32Array.from({ length: DIMENSIONS }, gauss)))
    : Array.from({ length: real.length / (4 * DIMENSIONS) }, (_, index) => {
        const start = real.byteOffset + index * 4 * DIMENSIONS;
        return new Float32Array(real.buffer.slice(start, start + 4 * DIMENSIONS));
      });
// Of real vectors each stands once as it is, then with noise.
const vectorAt = (index) => {
  const centre = centres[index % centres.length];
  return real !== null && index < centres.length ? centre : unit(centre.map((number) => number + 0.03 * gauss()));
};
const vectors = Array.from({ length: own }, (_, index) => vectorAt(index));
const queries = Array.from({ length: QUERIES }, () =>
  unit(vectorAt(Math.floor(random() * own)).map((x) => x + 0.04 * gauss())),
);
const embedder = {
  id: "seeded",
  dimensions: DIMENSIONS,
  batchSize: 512,
  embed: async (texts) =>
    texts.map((text) => {
      const [, kind, index] = /(message|query)(\d+)$/.exec(text);
      return kind === "message" ? vectors[Number(index)] : queries[Number(index)];
    }),
};

const folder = mkdtempSync(join(tmpdir(), "stemma-bench-one-user-"));
const { plain, addOthers, exact, inEngine, size, end } = values.postgres ? await openServer() : openFile();
const store = plain.withEmbedder(embedder);
const user = SessionManager.create(store.forUser("ada"));
for (let start = 0; start < own; start += IN_SESSION) {
  const messages = Array.from({ length: Math.min(IN_SESSION, own - start) }, (_, index) => ({
    id: `m${start + index}`,
    role: "user",
    parts: [{ type: "text", text: `message${start + index}` }],
  }));
  await user.appendAll(`s${start / IN_SESSION}`, messages);
}
await store.embeddings.flush();
await addOthers(total - own);
console.log(`${own} vectors of a user in a store of ${total}, ${DIMENSIONS} numbers each, ${await size()} MB`);

const words = SessionManager.create(plain.forUser("ada"));
const times = { "search by both": [], "search by words": [], "all vectors read and compared": [] };
if (inEngine !== null) times["all vectors compared by sqlite-vec"] = [];
const timed = async (name, work) => {
  const start = values.cpu ? cpuTime() : performance.now();
  const result = await work();
  times[name].push((values.cpu ? cpuTime() : performance.now()) - start);
  return result;
};
const delay = monitorEventLoopDelay({ resolution: 1 });
let [held, found] = [0, 0];
for (const [index, query] of queries.entries()) {
  const nearest = await timed("all vectors read and compared", () => exact(query));
  await timed("search by words", () => words.search(`query${index}`, { limit: 10 }));
  if (inEngine !== null) await timed("all vectors compared by sqlite-vec", () => inEngine(query));
  await new Promise((resolve) => setTimeout(resolve, 20));
  delay.reset();
  delay.enable();
  const hits = await timed("search by both", () => user.search(`query${index}`, { limit: 10 }));
  await new Promise((resolve) => setTimeout(resolve, 5));
  delay.disable();
  held = Math.max(held, delay.max / 1e6);
  const ids = new Set(hits.map(({ id }) => id));
  found += nearest.filter((id) => ids.has(id)).length / 10;
}
verify(found > 0, "one-user", "its searches find nothing.");
for (const [name, list] of Object.entries(times)) {
  const sorted = list.sort((a, b) => a - b);
  const at = (share) => sorted[Math.floor(share * (sorted.length - 1))].toFixed(1);
  console.log(`${name.padEnd(36)} p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`);
}
console.log(
  `of the ten nearest ${(found / QUERIES).toFixed(3)} were found; the event loop was held ${held.toFixed(1)} ms at most`,
);
await store.close();
await end();
rmSync(folder, { recursive: true, force: true });

function openFile() {
  const path = join(folder, "bench.db");
  const database = open(path);
  const other = open(path);
  sqliteVec.load(other);
  const ofUser =
    "assistant_vectors v JOIN assistant_sessions s ON v.n BETWEEN s.no * 268435456 AND s.no * 268435456 + 268435455 WHERE s.user_id = 'ada'";
  const idOf = database.prepare.bind(database, "SELECT id FROM assistant_messages WHERE n = ?");
  const idsOf = (rows) => rows.map((row) => idOf().pluck().get(row));
  return {
    plain: sqlite(database),
    async addOthers(count) {
      const { embedder: no } = database.prepare("SELECT max(embedder) AS embedder FROM assistant_vectors").get();
      const insert = database.prepare("INSERT INTO assistant_vectors (n, embedder, vector, signs) VALUES (?, ?, ?, ?)");
      const signs = database.prepare("SELECT vector, signs FROM assistant_vectors LIMIT 1000").all();
      const some = database.transaction((from, to) => {
        for (let index = from; index < to; index += 1) {
          const { vector, signs: text } = signs[index % signs.length];
          insert.run((1_000_000 + Math.floor(index / IN_SESSION)) * SESSION + (index % IN_SESSION), no, vector, text);
        }
      });
      for (let start = 0; start < count; start += 10_000) some(start, Math.min(count, start + 10_000));
    },
    exact: async (query) =>
      idsOf(
        best(
          query,
          database.prepare(`SELECT v.n AS n, v.vector AS vector FROM ${ofUser}`).raw().iterate(),
          (bytes) => new Float32Array(bytes.buffer, bytes.byteOffset, DIMENSIONS),
        ),
      ),
    inEngine: async (query) =>
      other
        .prepare(`SELECT v.n FROM ${ofUser} ORDER BY vec_distance_cosine(v.vector, ?) LIMIT 10`)
        .all(new Uint8Array(query.buffer)),
    size: async () => Math.round(statSync(path).size / 1e6),
    end: async () => other.close(),
  };
}

function open(path) {
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.pragma("synchronous = NORMAL");
  return database;
}

async function openServer() {
  const server = await startServer();
  const client = new pg.Client(server.url);
  await client.connect();
  const ofUser =
    "assistant_vectors v JOIN assistant_sessions s ON s.id = v.session_id JOIN assistant_messages m ON m.session_id = v.session_id AND m.n = v.n WHERE s.user_id = 'ada'";
  return {
    plain: postgres(server.url),
    async addOthers(count) {
      // Without foreign keys.
      await client.query("SET session_replication_role = replica");
      await client.query(
        `INSERT INTO assistant_vectors (session_id, n, embedder, vector)
         SELECT 'other ' || i / ${IN_SESSION}, (1000000 + i / ${IN_SESSION}) * 268435456 + i % ${IN_SESSION}, v.embedder, v.vector
         FROM generate_series(0, ${count - 1}) AS i JOIN (SELECT row_number() OVER () - 1 AS k, * FROM assistant_vectors LIMIT 1000) AS v ON v.k = i % 1000`,
      );
      await client.query("VACUUM ANALYZE");
    },
    async exact(query) {
      const { rows } = await client.query(`SELECT m.id AS id, array_send(v.vector) AS vector FROM ${ofUser}`);
      const numbers = ({ vector }) =>
        Float32Array.from({ length: DIMENSIONS }, (_, place) => vector.readFloatBE(24 + 8 * place));
      return best(
        query,
        rows.map((row) => [row.id, numbers(row)]),
        (vector) => vector,
      );
    },
    inEngine: null,
    size: async () =>
      Math.round((await client.query("SELECT pg_database_size(current_database()) AS size")).rows[0].size / 1e6),
    async end() {
      await client.end();
      await server.stop();
    },
  };
}

/** What stands beside the ten vectors that are most alike. */
function best(query, rows, decode) {
  const all = [];
  for (const [key, value] of rows) {
    const vector = decode(value);
    let score = 0;
    for (let place = 0; place < DIMENSIONS; place += 1) score += query[place] * vector[place];
    all.push({ key, score });
  }
  return all
    .sort((a, b) => b.score - a.score)
    .slice(0, 10)
    .map(({ key }) => key);
}
