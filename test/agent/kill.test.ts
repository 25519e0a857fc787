import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RedisSessionStorage } from "../../src/agent.js";
import { createSessionStorage, resumeSession, type SessionStorage } from "../../src/agent.js";
import { bundle } from "./bundle.js";
import { findRedis, type RedisServer, startRedis } from "./redis-server.js";

/** Kills per storage. */
const KILLS = Number(process.env.STEMMA_KILLS ?? 3);
const ID = "s";

interface Acknowledged {
  resumed?: boolean;
  sent?: string;
  use?: string;
  result?: string;
  content?: string;
  message?: string;
  failed?: string;
}

let program: string;
let folder: string;
beforeAll(async () => {
  program = join(await bundle("kill", ["test/agent/kill-child.ts"]), "kill-child.mjs");
  folder = mkdtempSync(join(tmpdir(), "stemma-kill-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the conversation, kills it after a while (or lets it end), and gives what it said is stored. */
async function converse(kind: string, where: string, mode: "once" | "on"): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [program, kind, where, ID, mode], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    if (mode === "on" && output === "") setTimeout(() => child.kill("SIGKILL"), Math.random() * 200);
    output += text;
  });
  await new Promise((resolve) => child.once("close", resolve));
  // The last line may be cut.
  const lines = output.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Acknowledged);
}

function assertKept(said: Acknowledged[], stored: string): void {
  for (const { sent, use, result, content, message, failed } of said) {
    expect(failed).toBeUndefined();
    for (const id of [sent, use, message]) if (id !== undefined) expect(stored).toContain(JSON.stringify(id));
    if (result !== undefined)
      expect(stored).toContain(`"tool_use_id":"${result}","content":${JSON.stringify(content)}`);
  }
}

async function soak(kind: string, where: string, open: () => SessionStorage, check: () => void): Promise<void> {
  const said: Acknowledged[] = [];
  for (let kill = 0; kill < KILLS; kill += 1) {
    said.push(...(await converse(kind, where, "on")));
    check();
    const storage = open();
    const session = await resumeSession(ID, { sessionStorage: storage });
    assertKept(said, JSON.stringify(session.getMessages()));
    await session.close();
    await (storage as Partial<RedisSessionStorage>).close?.();
  }
  // And it goes on: the next request is accepted.
  const last = await converse(kind, where, "once");
  expect(last.filter(({ message }) => message !== undefined)).toHaveLength(3);
  expect(last.filter(({ failed }) => failed !== undefined)).toEqual([]);
}

describe(`after ${KILLS} times kill -9 in a conversation with tools, all that was acknowledged is there`, () => {
  const limit = 30_000 + KILLS * 5_000;

  it(
    "in files, each of which parses",
    async () => {
      const directory = join(folder, "files");
      await soak(
        "file",
        directory,
        () => createSessionStorage("file", { directory }),
        () => {
          const names = readdirSync(directory).filter((name) => !name.startsWith("."));
          expect(names).toEqual([`${ID}.json`]);
          for (const name of names) JSON.parse(readFileSync(join(directory, name), "utf8"));
        },
      );
    },
    limit,
  );

  it(
    "in SQLite",
    async () => {
      const path = join(folder, "sessions.db");
      await soak(
        "sqlite",
        path,
        () => createSessionStorage("sqlite", { path }),
        () => {},
      );
    },
    limit,
  );

  describe.skipIf(findRedis() === null)("in Redis (needs redis-server on the PATH, or STEMMA_REDIS_SERVER)", () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server.stop());

    it(
      "in Redis with an append-only file",
      async () => {
        await soak(
          "redis",
          server.url,
          () => createSessionStorage("redis", { url: server.url }),
          () => {},
        );
      },
      limit,
    );
  });
});
