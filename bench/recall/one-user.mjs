// npm run bench -- one-user [--user 50000] [--store 1000000] [--queries 40] [--postgres] [--vectors <file of float32, 384 each>]
//
// How long a search takes for a user with so many vectors, alone in the store and in a store of so many; how long it holds the event
// loop, and how many of the ten nearest of all it finds. In the same rounds: all of the user's vectors read and compared, and
// sqlite-vec. Without a file the vectors lie around seeded centres. The user's sessions stand among others. Others' vectors stand in
// the tables without messages, which no search of this user reads. The files are in TMPDIR: 3 GB for 1,000,000 vectors.
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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
const SESSION = 2 ** 28;

const { values } = parseArgs({
  options: {
    user: { type: "string", default: "50000" },
    store: { type: "string", default: "1000000" },
    queries: { type: "string", default: "40" },
    postgres: { type: "boolean", default: false },
    vectors: { type: "string" },
  },
});
const [own, total, count] = [Number(values.user), Number(values.store), Number(values.queries)];

let seed = 1;
const random = () => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return seed / 2 ** 32;
};
const NOISE = Float32Array.from(
  { length: 2 ** 20 },
  () => Math.sqrt(-2 * Math.log(random() + 2 ** -40)) * Math.cos(2 * Math.PI * random()),
);
const noisy = (vector, much) => {
  const start = Math.floor(random() * (NOISE.length - DIMENSIONS));
  return unit(vector.map((number, place) => number + much * NOISE[start + place]));
};
const unit = (vector) => {
  let square = 0;
  for (const number of vector) square += number * number;
  return vector.map((number) => number / Math.sqrt(square));
};
const real = values.vectors === undefined ? null : readFileSync(values.vectors);
const centres =
  real === null
    ? Array.from({ length: CENTRES }, () => noisy(new Float32Array(DIMENSIONS), 1))
    : Array.from({ length: real.length / (4 * DIMENSIONS) }, (_, index) => {
        const start = real.byteOffset + index * 4 * DIMENSIONS;
        return new Float32Array(real.buffer.slice(start, start + 4 * DIMENSIONS));
      });
// Of real vectors each stands once as it is, then with noise.
const vectorAt = (index) => {
  const centre = centres[index % centres.length];
  return real !== null && index < centres.length ? centre : noisy(centre, 0.03);
};
const vectors = Array.from({ length: own }, (_, index) => vectorAt(index));
const queries = Array.from({ length: count }, () => noisy(vectorAt(Math.floor(random() * own)), 0.04));
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
const others = SessionManager.create(plain.forUser("bob"));
for (let start = 0; start < own; start += IN_SESSION) {
  const messages = Array.from({ length: Math.min(IN_SESSION, own - start) }, (_, index) => ({
    id: `m${start + index}`,
    role: "user",
    parts: [{ type: "text", text: `message${start + index}` }],
  }));
  await user.appendAll(`s${start / IN_SESSION}`, messages);
  await others.append(`o${start / IN_SESSION}`, { id: "o", role: "user", parts: [{ type: "text", text: "message0" }] });
}
await store.embeddings.flush();
const words = SessionManager.create(plain.forUser("ada"));
await measure(own);
if (total > own) {
  await addOthers(total - own);
  await measure(total);
}
await store.close();
await end();
rmSync(folder, { recursive: true, force: true });

async function measure(among) {
  console.log(`\n${own} vectors of a user in a store of ${among}, ${DIMENSIONS} numbers each, ${await size()} MB`);
  const measured = new Map();
  const timed = async (name, work) => {
    const [start, cpu] = [performance.now(), cpuTime()];
    const result = await work();
    const known = measured.get(name) ?? { wall: [], cpu: [] };
    measured.set(name, known);
    known.wall.push(performance.now() - start);
    known.cpu.push(cpuTime() - cpu);
    return result;
  };
  const held = { wall: [], cpu: [] };
  let found = 0;
  for (const [index, query] of queries.entries()) {
    const nearest = await timed("all vectors read and compared", () => exact(query));
    if (inEngine !== null) await timed("all vectors compared by sqlite-vec", () => inEngine(query));
    await timed("search by words", () => words.search(`query${index}`, { limit: 10 }));
    const hits = await whileLooking(held, () =>
      timed("search by both", () => user.search(`query${index}`, { limit: 10 })),
    );
    const ids = new Set(hits.map(({ id }) => id));
    found += nearest.filter((id) => ids.has(id)).length / nearest.length;
  }
  verify(found > 0, "one-user", "its searches find nothing.");
  const at = (list, share) => list.toSorted((a, b) => a - b)[Math.floor(share * (list.length - 1))].toFixed(1);
  for (const [name, { wall, cpu }] of measured) {
    const times = `p50 ${at(wall, 0.5)} ms, p95 ${at(wall, 0.95)} ms, CPU p50 ${at(cpu, 0.5)} ms, p95 ${at(cpu, 0.95)} ms`;
    console.log(`${name.padEnd(36)} ${times}`);
  }
  const share = (found / count).toFixed(4);
  const longest = ({ wall, cpu }, of) => `${at(wall, of)} ms (${at(cpu, of)} ms of CPU)`;
  console.log(
    `found of the ten nearest ${share}; event loop held p50 ${longest(held, 0.5)}, at most ${longest(held, 1)}`,
  );
}

// Notes the longest time between two turns of the event loop. Where other programs run, only the CPU time is the search's own.
async function whileLooking({ wall, cpu }, work) {
  let [longest, most, isOver] = [0, 0, false];
  let last = [performance.now(), cpuTime()];
  const look = () => {
    const now = [performance.now(), cpuTime()];
    longest = Math.max(longest, now[0] - last[0]);
    most = Math.max(most, now[1] - last[1]);
    last = now;
    if (!isOver) setTimeout(look, 1);
  };
  setTimeout(look, 1);
  const result = await work();
  isOver = true;
  look();
  wall.push(longest);
  cpu.push(most);
  return result;
}

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
    plain: sqlite(path),
    async addOthers(count) {
      const no = database.prepare("SELECT max(embedder) FROM assistant_vectors").pluck().get();
      const insert = database.prepare("INSERT INTO assistant_vectors (n, embedder, vector, signs) VALUES (?, ?, ?, ?)");
      const some = database.transaction((from, to) => {
        for (let index = from; index < to; index += 1) {
          const vector = vectorAt(own + index);
          const n = (1_000_000 + Math.floor(index / IN_SESSION)) * SESSION + 1 + (index % IN_SESSION);
          insert.run(n, no, new Uint8Array(vector.buffer), signsOf(vector));
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

// As the store writes them: six to a character.
function signsOf(vector) {
  const bits = (start) =>
    vector.subarray(start, start + 6).reduce((sum, x, place) => sum + (x > 0 ? 1 << place : 0), 48);
  return String.fromCharCode(...Array.from({ length: Math.ceil(DIMENSIONS / 6) }, (_, index) => bits(6 * index)));
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
