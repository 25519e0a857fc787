import { expect, it } from "vitest";
import { postgresDriver } from "../../../src/drivers/client.js";
import type { FieldsResult } from "../../../src/drivers/pg.js";

/** A database that answers each statement with its text, and with where it ran. */
function database() {
  const runs = (where: string) => ({
    query: async (sql: string): Promise<FieldsResult> => ({
      rows: [{ sql, where }],
      fields: [
        { name: "sql", dataTypeID: 25 },
        { name: "where", dataTypeID: 25 },
      ],
    }),
  });
  return {
    ...runs("database"),
    exec: async () => {},
    transaction: async <T>(work: (connection: ReturnType<typeof runs>) => Promise<T>) => work(runs("transaction")),
  };
}

it("runs a statement on a PGlite database, and those of a transaction in one", async () => {
  const driver = postgresDriver(database());
  expect(await driver.query("SELECT 1", [])).toEqual({
    rows: [{ sql: "SELECT 1", where: "database" }],
    columns: [
      { name: "sql", type: 25 },
      { name: "where", type: 25 },
    ],
  });
  const { rows } = await driver.transaction("", (query) => query("SELECT 2", []));
  expect(rows).toEqual([{ sql: "SELECT 2", where: "transaction" }]);
});
