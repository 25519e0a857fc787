import type pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { type Choice, describeStore } from "../describe-store.js";
import { type OpenDatabase, openPool } from "./databases.js";
import type { Engine } from "./engines.js";
import { describeServer } from "./server.js";
import { guardPool, guardTarget } from "./session-guard.js";
import { postgresTarget } from "./target.js";

/** Registers the conformance suite for a pool of pg on a server of this engine, or some topics of it. */
export function describePool(name: string, engine: Engine, choice: Choice = {}): void {
  describeServer(
    engine.name,
    (server) => {
      let database: OpenDatabase;
      let guarded: OpenDatabase;
      beforeAll(() => {
        database = openPool(server.url);
        guarded = { ...database, source: guardPool(database.source as pg.Pool) };
      });
      afterAll(() => database?.close());
      describeStore(name, guardTarget(postgresTarget(engine.name, () => guarded)), { ...choice, concurrent: true });
    },
    engine,
  );
}
