import pg from "pg";
import { afterAll, beforeAll } from "vitest";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { ALL, describeStore } from "../../describe-store.js";
import { type OpenDatabase, openPool } from "../../postgres/databases.js";
import { describeServer } from "../../postgres/server.js";
import { postgresTarget } from "../../postgres/target.js";
import { lossy, OF_LOSSES } from "../../server/remote-losses.js";
import { remoteTarget } from "../../server/remote-target.js";

describeServer("stemma/remote on two servers of one Postgres", (server) => {
  let database: OpenDatabase;
  let other: pg.Pool;
  beforeAll(() => {
    database = openPool(server.url);
    other = new pg.Pool({ connectionString: server.url, max: 6 });
  });
  afterAll(async () => {
    await database?.close();
    await other?.end();
  });
  const schemas = new WeakMap<Store, string>();
  const targetOf = (name: string) =>
    postgresTarget(name, () => database, {
      openStore: (source, schema, search) => {
        const store = postgres(source, { schema, search });
        schemas.set(store, schema);
        return store;
      },
    });
  const replicaOf = (store: Store) => postgres(other, { schema: schemas.get(store) });
  if (ALL) {
    const target = targetOf("Postgres, two servers");
    describeStore("postgres", remoteTarget(target, undefined, replicaOf), { concurrent: true });
  }
  const target = targetOf("Postgres, two servers, with losses");
  const remotely = remoteTarget(target, lossy(target.name), replicaOf);
  describeStore("postgres", remotely, { ...OF_LOSSES, concurrent: true });
});
