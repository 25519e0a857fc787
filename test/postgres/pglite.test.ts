import { afterAll } from "vitest";
import { describeStore } from "../describe-store.js";
import { openPGlite } from "./pglite.js";
import { postgresTarget } from "./target.js";

const database = openPGlite();

afterAll(() => database.close());

describeStore(
  "pglite",
  postgresTarget("PGlite", () => database),
);
