import { afterAll } from "vitest";
import { describeStore, OF_CLIENTS } from "../../describe-store.js";
import { openPGlite } from "../../postgres/pglite.js";
import { postgresTarget } from "../../postgres/target.js";

const database = openPGlite();

afterAll(() => database.close());

describeStore(
  "pglite",
  postgresTarget("PGlite", () => database),
  { differsIn: OF_CLIENTS },
);
