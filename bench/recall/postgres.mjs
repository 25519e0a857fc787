// A Postgres server for the measurement: one that runs already, or one that npm brings and that keeps nothing.
import pg from "pg";
import { postgres } from "../../packages/stemma/dist/postgres.js";
import { SessionManager } from "../../packages/stemma/dist/session.js";
import { startServer } from "../postgres-server.mjs";

/** Gives `open(name)`, a manager on an empty schema of that name, and `stop()`. */
export async function startPostgres(url) {
  const server = url === undefined ? await startServer() : { url, stop: async () => {} };
  const pool = new pg.Pool({ connectionString: server.url });
  const open = async (name) => {
    const schema = `recall_${name}`;
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    const store = postgres(pool, { schema });
    return {
      manager: SessionManager.create(store),
      // What a server's own upkeep does after a while.
      settle: () => pool.query("ANALYZE"),
      close: async () => {
        await store.close();
        await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      },
    };
  };
  const stop = async () => {
    await pool.end();
    await server.stop();
  };
  return { open, stop };
}
