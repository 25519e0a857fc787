import { afterAll, describe, it } from "vitest";
import { describeStore } from "../../src/testing.js";
import { openPGlite } from "./databases.js";
import { postgresTarget } from "./target.js";

const database = openPGlite();

afterAll(() => database.close(), 60_000);

describeStore(
  postgresTarget("PGlite", () => database),
  { describe, it },
);
