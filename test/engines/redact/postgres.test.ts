import { postgres } from "../../../packages/postgres/src/postgres.js";
import { describeServer } from "../../postgres/server.js";
import { textOfRows } from "../../redact/canary.js";
import { describeRedact } from "../../redact/describe-redact.js";

describeServer("what is stored on a server", (server) => {
  let schemas = 0;
  describeRedact(
    "Postgres",
    async (redact) => {
      const schema = `redact_${++schemas}`;
      await server.query(server.url, `CREATE SCHEMA ${schema}`);
      const kept = async (): Promise<string> => {
        const tables = await server.query(server.url, `SELECT tablename FROM pg_tables WHERE schemaname = '${schema}'`);
        const rows: unknown[] = [];
        for (const { tablename } of tables) {
          rows.push(await server.query(server.url, `SELECT * FROM ${schema}."${tablename}"`));
        }
        return textOfRows(rows);
      };
      return { store: postgres(server.url, { schema, redact, search: { tools: true } }), kept };
    },
    { tools: true },
  );
});
