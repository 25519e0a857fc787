import { afterAll, beforeAll } from "vitest";
import { describeStore } from "../describe-store.js";
import { type OpenDatabase, openPool } from "./databases.js";
import type { Engine } from "./engines.js";
import { describeServer } from "./server.js";
import { postgresTarget } from "./target.js";

/** Registers the conformance suite for a pool of pg on a server of this engine. */
export function describePool(name: string, engine: Engine): void {
  describeServer(
    engine.name,
    (server) => {
      let database: OpenDatabase;
      beforeAll(() => {
        database = openPool(server.url);
      });
      afterAll(() => database?.close(), 60_000);
      describeStore(
        name,
        postgresTarget(engine.name, () => database),
        { concurrent: true },
      );
    },
    engine,
  );
}
