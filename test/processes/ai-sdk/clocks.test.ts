import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { sleep } from "../../../packages/model/src/lib/queue.js";
import type { ChatPage } from "../../../packages/stemma/src/ai-sdk.js";
import { patience } from "../../helpers/patience.js";
import { describeServer } from "../../postgres/server.js";
import { bundle } from "../../runner/bundle.js";

const LEASE = patience(1500);
const DAY = 24 * 60 * 60 * 1000;
/** How far the wall clocks of other machines are from that of the one that answers, in milliseconds. */
const SKEWS = [11_000, -11_000, DAY, -DAY];
/** So many words of 40 ms take four leases. */
const LONG = `${Math.ceil((4 * LEASE) / 40)} words`;

const folder = mkdtempSync(join(tmpdir(), "stemma-clocks-"));
let program = "";
beforeAll(async () => {
  program = join(await bundle("clocks", ["test/ai-sdk/woken-child.ts"]), "woken-child.mjs");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("servers on a SQLite file, whose wall clocks differ", () => {
  let files = 0;
  describeClocks(() => {
    files += 1;
    return join(folder, `${files}.db`);
  }, false);
});

describeServer("servers on Postgres, whose wall clocks differ", (server) => describeClocks(() => server.url, true));

function describeClocks(database: () => string, hasClock: boolean): void {
  const running: Server[] = [];
  const start = async (where: string, name: string, shift = 0): Promise<Server> => {
    const server = await startServer(where, name);
    running.push(server);
    await server.shift(shift);
    return server;
  };
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.end()));
  });

  /** An answer that has begun, and another process that reads it. */
  const followed = async () => {
    const where = database();
    const [first, other] = [await start(where, "first"), await start(where, "other")];
    const id = crypto.randomUUID();
    const answered = first.post(id, LONG);
    await begun(first, id);
    const stream = other.stream(id);
    return { first, other, id, answered, stream };
  };

  it("leave a healthy answer alone, and follow it to its end", async () => {
    const where = database();
    const first = await start(where, "first");
    const others = await Promise.all(SKEWS.map((skew, index) => start(where, `other${index}`, skew)));
    const id = crypto.randomUUID();
    const answered = first.post(id, LONG);
    await begun(first, id);
    const streams = others.map((other) => other.stream(id));
    let isOver = false;
    const looks = others.map(async (other) => {
      for (; !isOver; await sleep(100)) await other.page(id);
    });
    expect(await answered).toContain('"finish"');
    isOver = true;
    await Promise.all(looks);
    // On a file all processes go by one clock: two days of difference are none that there are, for what expires.
    const followed = await Promise.all(streams);
    if (hasClock) for (const told of followed) expect(told).toContain('"finish"');
    const { run, messages } = await first.page(id);
    expect([run?.status, JSON.stringify(messages.at(-1)).includes("interrupted")]).toEqual(["completed", false]);
  });

  it("leave it alone while clocks step, and a machine wakes up a day later", async () => {
    const { first, other, id, answered, stream } = await followed();
    let isOver = false;
    const looks = (async () => {
      for (; !isOver; await sleep(50)) await other.page(id);
    })();
    for (const [own, others] of [
      [11_000, 0],
      [-11_000, 11_000],
      [-DAY, -DAY],
      [0, -DAY],
      [DAY, DAY],
    ] as const) {
      await Promise.all([first.shift(own), other.shift(others)]);
      await sleep(LEASE / 2);
    }
    // The machine sleeps: its monotonic clock stands, and the wall clock jumps.
    first.child.kill("SIGSTOP");
    await sleep(LEASE / 4);
    await other.shift(3 * DAY);
    first.child.kill("SIGCONT");
    await first.shift(3 * DAY);
    expect(await answered).toContain('"finish"');
    isOver = true;
    await looks;
    expect(await stream).toContain('"finish"');
    expect((await other.page(id)).run?.status).toBe("completed");
  });

  it("leave it alone when all of them stood still", async () => {
    const { first, other, answered, stream } = await followed();
    await sleep(LEASE / 4);
    first.child.kill("SIGSTOP");
    other.child.kill("SIGSTOP");
    await sleep(2 * LEASE);
    // The database's clock went on: there whoever looks first finds the lease ended.
    first.child.kill("SIGCONT");
    if (hasClock) await sleep(LEASE / 2);
    other.child.kill("SIGCONT");
    expect(await answered).toContain('"finish"');
    expect(await stream).toContain('"finish"');
  });

  it("take a dead one over, with what it had said, within its lease", async () => {
    const where = database();
    for (const skew of SKEWS) {
      const [first, other] = [await start(where, "first"), await start(where, "other", skew)];
      const id = crypto.randomUUID();
      first.post(id, LONG).catch(() => {});
      await begun(first, id);
      await sleep(LEASE);
      first.child.kill("SIGKILL");
      const died = performance.now();
      if (hasClock) {
        // Whoever comes later knows at once.
        await sleep(1.1 * LEASE);
        expect((await other.page(id)).run?.status).toBe("interrupted");
      }
      while ((await other.page(id)).run?.status !== "interrupted") await sleep(100);
      expect(performance.now() - died).toBeLessThan(LEASE + patience(2000));
      expect(await other.post(id, "Go on", "q2")).toContain("other");
      const { messages } = await other.page(id);
      expect(JSON.stringify(messages[1])).toContain("This is what first has to say");
      expect(JSON.stringify(messages[1])).toContain('"killed"');
    }
  });
}

async function begun(server: Server, id: string): Promise<void> {
  while ((await server.page(id)).run?.status !== "running") await sleep(20);
  await sleep(400);
}

interface Server {
  readonly child: ChildProcess;
  shift(by: number): Promise<void>;
  post(id: string, text: string, messageId?: string): Promise<string>;
  /** The answer that is under way, from its start. */
  stream(id: string): Promise<string>;
  page(id: string): Promise<ChatPage>;
  end(): Promise<unknown>;
}

async function startServer(database: string, name: string): Promise<Server> {
  const args = [program, database, name, String(LEASE)];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const lines = createInterface({ input: child.stdout });
  const line = () => new Promise<string>((resolve) => lines.once("line", resolve));
  const url = `${(await line()).replace("url: ", "")}/api/chat`;
  return {
    child,
    async shift(by) {
      const shifted = line();
      child.stdin.write(`shift ${by}\n`);
      await shifted;
    },
    async post(id, text, messageId = "q") {
      const message = { id: messageId, role: "user", parts: [{ type: "text", text }] };
      return (await fetch(url, { method: "POST", body: JSON.stringify({ id, message }) })).text();
    },
    stream: async (id) => (await fetch(`${url}/${id}/stream`)).text(),
    page: async (id) => (await fetch(`${url}/${id}`)).json() as Promise<ChatPage>,
    end: () => {
      child.kill("SIGCONT");
      child.stdin.end();
      return ended;
    },
  };
}
