// The sides of a comparison, each with connections and a schema of its own, whose clients append in turns.
import pg from "pg";
import { appendAtOnce, messageOf } from "./at-once.mjs";

/** What `appendAtOnce` gives of each round, by side. A side is given a pool, and gives a function that appends. */
export async function appendInPieces({ url, sides, clients, sessions, seconds, rounds }) {
  const pools = [];
  try {
    const appends = [];
    for (const [index, [side, start]] of Object.entries(sides).entries()) {
      const schema = `clients_${clients}_${sessions}_${index}`;
      // Connections stay while others have their turn.
      const pool = new pg.Pool({
        connectionString: url,
        max: clients,
        options: `-c search_path=${schema}`,
        idleTimeoutMillis: 0,
      });
      // Where `end()` resolves before the server knows of it, stopping the server is an error to a connection.
      pool.on("error", () => {});
      pools.push(pool);
      await pool.query(`CREATE SCHEMA ${schema}`);
      const append = await start(pool);
      for (let session = 0; session < sessions; session += 1) await append(`s${session}`, messageOf("first"));
      appends.push([side, append]);
    }
    const runs = Object.fromEntries(appends.map(([side]) => [side, []]));
    for (let round = 0; round < rounds; round += 1) {
      const first = round % appends.length;
      for (const [side, append] of [...appends.slice(first), ...appends.slice(0, first)]) {
        runs[side].push(await appendAtOnce(append, { clients, sessions, seconds, name: `${side}-${round}` }));
      }
    }
    return runs;
  } finally {
    for (const pool of pools) await pool.end();
  }
}
