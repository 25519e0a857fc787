import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { StemmaClient } from "../../../packages/client/src/index.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { type Served, startServed } from "../../cli/served.js";
import { textMessage } from "../../helpers/messages.js";

const folder = temporaryFolder();
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

const ADMIN = "a-secret-of-the-administrator";
const CALLS_PER_SECOND = 200;
const TICK = 25;
/** A machine that is slower has fewer calls, not all of them at once. */
const MOST_AT_ONCE = 40;

/** Sends each request to one of the servers that say they are ready, as a balancer does. */
class Balancer {
  #servers: Served[] = [];
  #ready: Served[] = [];
  #turn = 0;
  #watching = true;
  readonly #watched: Promise<void>;

  constructor() {
    this.#watched = this.#watch();
  }

  readonly fetch = (request: Request): Promise<Response> => {
    this.#turn += 1;
    const { url = "" } = this.#ready[this.#turn % this.#ready.length] ?? {};
    return fetch(new Request(request.url.replace("http://served", url), request));
  };

  async add(server: Served): Promise<void> {
    this.#servers.push(server);
    await expect.poll(() => this.#ready.includes(server), { interval: 10 }).toBe(true);
  }

  /** Asks a server to end, and takes it out once it has. */
  async end(server: Served): Promise<void> {
    server.process.stop("SIGTERM");
    expect(await server.process.ended).toEqual({ code: 0, signal: null });
    this.#servers = this.#servers.filter((each) => each !== server);
  }

  async stop(): Promise<void> {
    this.#watching = false;
    await this.#watched;
    await Promise.all(this.#servers.map((server) => this.end(server)));
  }

  async #watch(): Promise<void> {
    while (this.#watching) {
      const states = await Promise.all(
        this.#servers.map(async (server) => {
          const response = await fetch(`${server.url}/readyz`).catch(() => undefined);
          return response?.status === 200 ? [server] : [];
        }),
      );
      this.#ready = states.flat();
      await sleep(50);
    }
  }
}

describe("two servers that are replaced one after the other", () => {
  it("fail none of 200 calls a second, if the machine does so many, and do each once", async () => {
    const db = join(folder, "rolling.db");
    const args = ["--db", db, "--rate-limit", "1000000", "--drain-delay", "3"];
    const begin = () => startServed(program, args, { STEMMA_ADMIN_KEY: ADMIN });
    const balancer = new Balancer();
    const first = [await begin(), await begin()];
    for (const server of first) await balancer.add(server);
    const client = new StemmaClient({ baseUrl: "http://served", apiKey: ADMIN, fetch: balancer.fetch });
    await client.sessions.create({ id: "chat", name: "chat" });
    await client.messages.append("chat", textMessage("first"));
    const failures: unknown[] = [];
    const calls: Promise<unknown>[] = [];
    const kinds = [
      (id: number) => client.messages.append("chat", textMessage(`m${id}`)),
      () => client.usage.add("chat", { inputTokens: 1, outputTokens: 0 }),
      () => client.messages.list("chat", { order: "desc", limit: 10 }),
      () => client.sessions.get("chat"),
    ];
    let isOver = false;
    let underWay = 0;
    const begun = performance.now();
    const call = async (id: number) => {
      underWay += 1;
      try {
        await kinds[id % kinds.length]?.(id);
      } catch (error) {
        failures.push(error);
      }
      underWay -= 1;
    };
    const load = async () => {
      while (!isOver) {
        const due = ((performance.now() - begun) / 1_000) * CALLS_PER_SECOND;
        while (calls.length < due && underWay < MOST_AT_ONCE) calls.push(call(calls.length));
        await sleep(TICK);
      }
    };
    const loading = load();
    try {
      for (const old of first) {
        await balancer.add(await begin());
        await balancer.end(old);
      }
      await sleep(500);
    } finally {
      isOver = true;
      await loading;
      await Promise.all(calls);
      await balancer.stop();
    }
    expect(failures).toEqual([]);
    const seconds = (performance.now() - begun) / 1_000;
    expect(calls.length).toBeGreaterThan(CALLS_PER_SECOND);
    const store = sqlite(db);
    const ofKind = (kind: number) => calls.filter((_, id) => id % kinds.length === kind).length;
    expect([await store.session("chat").count(), (await store.sessions.get("chat"))?.input_tokens]).toEqual([
      1 + ofKind(0),
      ofKind(1),
    ]);
    await store.close();
    console.log(`${calls.length} calls in ${seconds.toFixed(1)} s, 0 failed`);
  });
});
