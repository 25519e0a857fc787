import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sleep } from "../../../packages/model/src/lib/queue.js";
import type { ChatPage } from "../../../packages/stemma/src/ai-sdk.js";
import { describeServer } from "../../postgres/server.js";
import { bundle } from "../../runner/bundle.js";

const LEASE = 500;
const TIMES = 3;

const folder = mkdtempSync(join(tmpdir(), "stemma-woken-"));
let program = "";
beforeAll(async () => {
  program = join(await bundle("woken", ["test/ai-sdk/woken-child.ts"]), "woken-child.mjs");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("two servers on a SQLite file", () => {
  let files = 0;
  describeServers(() => {
    files += 1;
    return join(folder, `${files}.db`);
  });
});

describeServer("two servers on Postgres", (server) => {
  const inTransaction = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`;
  describeServers(
    () => server.url,
    async () => (await server.query(server.url, inTransaction)).length > 0,
  );
});

function describeServers(database: () => string, holdsLocks = async () => false): void {
  const ways = {
    "whose tool blocked it": { text: "block", stop: async () => {}, go: () => {} },
    "that was stopped": {
      text: "plain",
      stop: async (child: ChildProcess) => {
        child.kill("SIGSTOP");
        // Within a transaction it would hold its locks, until the database's own time for that is over.
        for (await sleep(50); await holdsLocks(); await sleep(50)) {
          child.kill("SIGCONT");
          await sleep(1);
          child.kill("SIGSTOP");
        }
      },
      go: (child: ChildProcess) => child.kill("SIGCONT"),
    },
  };
  it.each(Object.entries(ways))(
    "one %s longer than its lease leaves the answer of the other as it is",
    async (_name, { text, stop, go }) => {
      const where = database();
      const [first, second] = [await start(where, "first"), await start(where, "second")];
      for (let time = 0; time < TIMES; time += 1) {
        const id = crypto.randomUUID();
        const message = { id: "q", role: "user", parts: [{ type: "text", text }] };
        const post = async (url: string, begun = () => {}): Promise<string> => {
          const response = await fetch(`${url}/api/chat`, { method: "POST", body: JSON.stringify({ id, message }) });
          let told = "";
          for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
            told += piece;
            if (told.includes("first")) begun();
          }
          begun();
          return told;
        };
        const page = async () => (await (await fetch(`${second.url}/api/chat/${id}`)).json()) as ChatPage;
        let isBegun = false;
        const answered = post(first.url, () => {
          isBegun = true;
        });
        // One that is blocked sends nothing.
        while (!isBegun && (text === "plain" || (await page()).run?.status !== "running")) await sleep(20);
        await stop(first.child);
        await sleep(1.2 * LEASE);
        // What had not come to its end is told to be interrupted, and goes on when it is asked for again.
        for (let told = ""; !told.includes('"finish"'); ) told = await post(second.url);
        const then = await page();
        expect(JSON.stringify(then.messages)).toContain("second");
        go(first.child);
        expect(await answered).toContain("Another process took this answer over");
        await sleep(LEASE);
        expect(await page()).toEqual(then);
      }
      await Promise.all([first.end(), second.end()]);
    },
  );
}

async function start(database: string, name: string) {
  const child = spawn(process.execPath, [program, database, name, String(LEASE)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const url = await new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => resolve(line.replace("url: ", "")));
  });
  return {
    child,
    url,
    end: () => {
      child.stdin.end();
      return ended;
    },
  };
}
