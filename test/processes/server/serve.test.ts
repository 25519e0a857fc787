import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ApiKeys } from "../../../packages/server/src/index.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { Spawned } from "../../cli/spawned.js";

const folder = temporaryFolder();
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

const ENV = { ...process.env, NODE_NO_WARNINGS: "1" };

async function urlOf(served: Spawned): Promise<string> {
  await expect.poll(() => served.lines.find(({ event }) => event === "listening")).toBeDefined();
  return String(served.lines.find(({ event }) => event === "listening")?.url);
}

describe("stemma serve as a process", () => {
  it("serves with nothing else than its name, and prints the key of this process", async () => {
    const served = new Spawned(program, ["serve", "--port", "0", "--drain-delay", "0"], {
      ...ENV,
      STEMMA_DB: join(folder, "first.db"),
    });
    const url = await urlOf(served);
    const key = /Bearer (\S+)/.exec(served.err)?.[1] ?? "";
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    const metrics = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${key}` } });
    expect(await metrics.text()).toContain('route="/metrics/*",status="401"');
    served.stop("SIGINT");
    expect(await served.ended).toEqual({ code: 0, signal: null });
  });

  it("ends on SIGTERM without one failed call, while others take over", async () => {
    const db = join(folder, "rolling.db");
    const store = sqlite(db);
    const { key } = await new ApiKeys(store).create({ name: "load", access: "memory" });
    await store.close();
    const config = ["--port", "0", "--rate-limit", "1000000", "--drain-delay", "1"];
    const begin = () => new Spawned(program, ["--db", db, "serve", ...config], ENV);
    const servers = [begin(), begin()];
    let urls = await Promise.all(servers.map(urlOf));
    const headers = { authorization: `Bearer ${key}` };
    let isOver = false;
    const outcomes: Record<string, number> = {};
    /** A balancer: it asks who is ready, and sends to these. */
    let ready = urls;
    const watch = async () => {
      while (!isOver) {
        const states = await Promise.all(
          urls.map((url) =>
            fetch(`${url}/readyz`).then(
              ({ status }) => status === 200,
              () => false,
            ),
          ),
        );
        ready = urls.filter((_, i) => states[i]);
        await new Promise((next) => setTimeout(next, 50));
      }
    };
    let turn = 0;
    const load = async () => {
      while (!isOver) {
        const url = ready[turn++ % Math.max(1, ready.length)] as string;
        const outcome = await fetch(`${url}/studio/api/sessions`, { headers }).then(
          async (response) => {
            await response.text();
            return String(response.status);
          },
          (error: Error) => `${error.message}: ${String(error.cause)}`,
        );
        outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
        await new Promise((next) => setTimeout(next, 30));
      }
    };
    const running = [watch(), ...Array.from({ length: 4 }, load)];
    await new Promise((next) => setTimeout(next, 1_000));
    try {
      for (const old of [...servers]) {
        const leaves = urls[0];
        const fresh = begin();
        servers.push(fresh);
        urls = [...urls, await urlOf(fresh)];
        old.stop("SIGTERM");
        expect(await old.ended).toEqual({ code: 0, signal: null });
        urls = urls.filter((url) => url !== leaves);
        await new Promise((next) => setTimeout(next, 300));
      }
    } finally {
      isOver = true;
      await Promise.all(running);
      for (const server of servers) server.stop("SIGTERM");
    }
    await Promise.all(servers.map(({ ended }) => ended));
    expect(Object.keys(outcomes)).toEqual(["200"]);
    expect(outcomes["200"]).toBeGreaterThan(100);
  });
});
