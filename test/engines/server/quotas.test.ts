// Two servers that share nothing but a database hold a key to one quota.
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { ApiKeys, authenticator, createServer, Quotas } from "../../../packages/server/src/index.js";
import { postgres } from "../../../packages/stemma/src/postgres.js";
import type { Store } from "../../../packages/store/src/index.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { temporaryFolder } from "../../cli/run.js";
import { describeServer } from "../../postgres/server.js";

const HOST = "https://memory.example.com";
const LIMIT = 200;

/** The statuses of many requests to two servers at once, how many messages are stored, and how often the count was written. */
async function flood(stores: readonly Store[], requests: number) {
  const errors: unknown[] = [];
  const written = stores.map(({ records }) => vi.spyOn(records, "set"));
  const quotas = stores.map((store) => new Quotas(store, { onError: (error) => errors.push(error) }));
  const servers = stores.map((store, n) =>
    createServer(store, {
      authenticate: authenticator({ keys: new ApiKeys(store) }),
      quotas: quotas[n],
      onError: (error) => errors.push(error),
    }),
  );
  const quota = { writesPerDay: LIMIT };
  const { key } = await new ApiKeys(stores[0] as Store).create({ name: "k", access: "memory", quota });
  const append = async (n: number) => {
    const server = servers[n % servers.length] as (typeof servers)[0];
    const response = await server(
      new Request(`${HOST}/v1/sessions/of-${n % 7}/messages`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ messages: [{ id: `m${n}`, role: "user", parts: [] }] }),
      }),
    );
    return response.status;
  };
  let next = 0;
  const statuses: number[] = [];
  const send = async () => {
    while (next < requests) statuses.push(await append(next++));
  };
  await Promise.all(Array.from({ length: 32 }, send));
  const done = statuses.filter((status) => status === 200).length;
  const refused = statuses.filter((status) => status === 429).length;
  const lengths = await Promise.all(
    Array.from({ length: 7 }, (_, n) => (stores[0] as Store).session(`of-${n}`).length()),
  );
  const writes = written.reduce(
    (sum, { mock }) => sum + mock.calls.filter(([{ label }]) => label === "stemma:quotas").length,
    0,
  );
  return { done, refused, errors, stored: lengths.reduce((sum, each) => sum + each), writes };
}

async function expectHeld(stores: readonly Store[]): Promise<void> {
  const { done, refused, errors, stored, writes } = await flood(stores, 3 * LIMIT);
  expect(errors).toEqual([]);
  expect([done, refused, stored]).toEqual([LIMIT, 2 * LIMIT, LIMIT]);
  expect(writes).toBeLessThan(LIMIT);
}

describeServer("a quota on two servers of one Postgres", (server) => {
  const pools: pg.Pool[] = [];
  beforeAll(() => {
    for (let n = 0; n < 2; n += 1) pools.push(new pg.Pool({ connectionString: server.url, max: 6 }));
  });
  afterAll(() => Promise.all(pools.map((pool) => pool.end())));

  it("lets through exactly what it has", async () => {
    await expectHeld(pools.map((pool) => postgres(pool)));
  });
});

const folder = temporaryFolder();

it("a quota on two servers of one SQLite file lets through exactly what it has", async () => {
  const stores = Array.from({ length: 2 }, () => sqlite(join(folder, "quotas.db")));
  await expectHeld(stores);
  for (const store of stores) await store.close();
});
