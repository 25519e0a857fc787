import { PGlite } from "@electric-sql/pglite";
import { intercept, intercepted, type OpenDatabase } from "./databases.js";

/** Postgres in this process. */
export function openPGlite(): OpenDatabase {
  const database = new PGlite();
  return {
    source: database,
    failing: (before) =>
      new Proxy(database, {
        get: (target, name) => {
          if (name !== "transaction") return intercepted(target, name, before, ["query"]);
          return async (work: (connection: object) => Promise<unknown>) => {
            before("BEGIN");
            return target.transaction(async (connection) => {
              const result = await work(intercept(connection, before, ["query"]));
              before("COMMIT");
              return result;
            });
          };
        },
      }),
    query: async (sql) => (await database.query<Record<string, unknown>>(sql)).rows,
    close: () => database.close(),
  };
}
