import { afterAll } from "vitest";
import { memory } from "../../../packages/store/src/memory.js";
import { openPGlite } from "../../postgres/pglite.js";
import { postgresTarget } from "../../postgres/target.js";
import { describeTrips } from "../../trips/describe-trips.js";

const database = openPGlite();

afterAll(() => database.close());

const target = postgresTarget("PGlite", () => database);

describeTrips(
  { memory, PGlite: () => target.open() },
  {
    values: 40,
    stores: 1,
    each: 8,
    // PGlite reads a text without the byte order mark that it begins with.
    without: /\ufeff/,
  },
);
