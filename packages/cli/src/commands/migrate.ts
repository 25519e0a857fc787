import { schemaSql } from "@stemma/postgres/postgres";
import type { Command } from "commander";
import { withStore, writeJson } from "../context.js";
import type { Io } from "../io.js";
import { type DatabaseOptions, databaseName } from "../open-database.js";

/** Adds `stemma migrate`. As JSON: `{ database }`, once the tables are ready. */
export function registerMigrate(program: Command, io: Io): void {
  program
    .command("migrate")
    .description("Create the tables, or upgrade those that are there. Other commands do it too, where their role may.")
    .option("--print", "write the SQL for a console of Postgres instead, and connect to nothing")
    .option("--citus", "spread the tables over the servers of a cluster of Citus, by session")
    .action(async ({ print }: { print?: boolean }, command: Command) => {
      const options = command.optsWithGlobals<DatabaseOptions>();
      if (print) return io.write(schemaSql({ schema: options.schema, citus: options.citus }));
      await withStore(command, io, "make", async ({ store, json }) => {
        await store.migrate();
        const database = databaseName(options);
        if (json) return writeJson(io, { database });
        await io.write(`The tables of ${database} are ready.\n`);
      });
    });
}
