// The samples of the documents, with a store of this kind where they have a Durable Object.
import { PGlite } from "@electric-sql/pglite";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import { runOn } from "../../documents/host.js";

const database = new PGlite();
let schemas = 0;
runOn(() => {
  schemas += 1;
  return postgres(database, { schema: `agent${schemas}` });
});
await import("../../docs/documents/sessions-page.test.js");
await import("../../docs/documents/older-sessions-page.test.js");
await import("../../docs/documents/memory-page.test.js");
