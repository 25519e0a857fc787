import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RedisSessionStorage, SDKMessage } from "../../../packages/stemma/src/agent.js";
import { createSessionStorage, resumeSession, type SessionStorage } from "../../../packages/stemma/src/agent.js";
import { assertAccepted } from "../../runner/accepted-prompt.js";
import { bundle } from "../../runner/bundle.js";
import { type Chunk, collect, says, scripted } from "../../runner/mock-model.js";
import { findRedis, type RedisServer, startRedis } from "../../runner/redis-server.js";

/** Kills per storage; `STEMMA_KILLS=500 npx vitest run runner/kill runner/commit` makes them 500. */
const KILLS = Number(process.env.STEMMA_KILLS ?? 3);
/** After so many a new conversation begins, as a file is written whole each time. */
const PER_CONVERSATION = 25;

/** What a program acknowledges, at most, before it is killed; a turn gives eight lines. */
const MAX_HEARD = 25;

interface Acknowledged {
  resumed?: boolean;
  sent?: string;
  use?: string;
  result?: string;
  content?: string;
  message?: string;
  failed?: string;
}

interface Place {
  /** What the conversing program is told: the kind of storage, and where. */
  readonly kind: string;
  readonly where: string;
  open(): SessionStorage;
  /** Kills what keeps the storage as well, in some rounds, and brings it up again. */
  crash?(): Promise<void>;
  /** Looks at what lies there after a kill. */
  check?(): void;
}

let program: string;
let folder: string;
beforeAll(async () => {
  program = join(await bundle("kill", ["test/runner/kill-child.ts"]), "kill-child.mjs");
  folder = mkdtempSync(join(tmpdir(), "stemma-kill-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs the conversation, kills it after a while, and gives what it said is stored. */
async function converse({ kind, where, crash }: Place, id: string): Promise<Acknowledged[]> {
  const child = spawn(process.execPath, [program, kind, where, id], { stdio: ["ignore", "pipe", "ignore"] });
  let output = "";
  // In any of the first turns.
  let left = 1 + Math.floor(Math.random() * MAX_HEARD);
  let crashed: Promise<void> | undefined;
  const kill = () => {
    if (Math.random() < 0.2) crashed = crash?.();
    child.kill("SIGKILL");
  };
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    const before = left;
    left -= text.split("\n").length - 1;
    if (before > 0 && left <= 0) setTimeout(kill, Math.random() * 20);
  });
  const signal = await new Promise((resolve) => child.once("close", (_code, signal) => resolve(signal)));
  await crashed;
  expect(signal).toBe("SIGKILL");
  // The last line may be cut.
  const lines = output.split("\n").slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Acknowledged);
}

function assertKept(said: readonly Acknowledged[], messages: readonly SDKMessage[]): void {
  const results = new Map<string, unknown>();
  const known = new Set<unknown>();
  for (const { id, content } of messages) {
    known.add(id);
    if (typeof content === "string") known.add(content);
    else
      for (const block of content) {
        if (block.type === "tool_use") known.add(block.id);
        if (block.type === "tool_result") results.set(block.tool_use_id, block.content);
      }
  }
  const lost = said.filter(({ sent, use, message, result, content, failed }) => {
    const ids = [sent, use, message].filter((id) => id !== undefined);
    return failed !== undefined || ids.some((id) => !known.has(id)) || (result && results.get(result) !== content);
  });
  expect(lost).toEqual([]);
}

/** Goes on with what a killed program left behind, and gives the messages. */
async function goOn(place: Place, id: string, said: readonly Acknowledged[]): Promise<boolean> {
  const storage = place.open();
  const model = scripted(({ prompt }) => {
    assertAccepted(prompt);
    return new ReadableStream<Chunk>({
      start(controller) {
        for (const chunk of says("Go on.")) controller.enqueue(chunk);
        controller.close();
      },
    });
  });
  const session = await resumeSession(id, { sessionStorage: storage, model });
  assertKept(said, session.getMessages());
  const interrupted = await session.isInterrupted();
  await session.send("Are you there?");
  const events = await collect(session.receive());
  expect(events.at(-1)).toMatchObject({ type: "stop", stop_reason: "end_turn" });
  await session.close();
  await (storage as Partial<RedisSessionStorage>).close?.();
  return interrupted;
}

async function soak(place: Place): Promise<void> {
  const conversations = new Map<string, Acknowledged[]>();
  let interrupted = 0;
  for (let kill = 0; kill < KILLS; kill += 1) {
    const id = `conversation-${Math.floor(kill / PER_CONVERSATION)}`;
    const said = conversations.get(id) ?? [];
    conversations.set(id, said);
    said.push(...(await converse(place, id)));
    place.check?.();
    if (await goOn(place, id, said)) interrupted += 1;
  }
  for (const [id, said] of conversations) await goOn(place, id, said);
  const count = [...conversations.values()].flat().length;
  console.log(`${place.kind}: ${KILLS} kills, ${interrupted} in the middle of a turn; ${count} acknowledgements kept`);
}

describe(`after ${KILLS} times kill -9 in a conversation with tools, all that was acknowledged is there, and the next request is accepted`, () => {
  const limit = 30_000 + KILLS * 20_000;

  it(
    "in files, each of which parses",
    async () => {
      const directory = join(folder, "files");
      await soak({
        kind: "file",
        where: directory,
        open: () => createSessionStorage("file", { directory }),
        check() {
          for (const name of readdirSync(directory).filter((file) => !file.startsWith(".")))
            JSON.parse(readFileSync(join(directory, name), "utf8"));
        },
      });
      // What the killed programs had half written is gone.
      expect(readdirSync(directory).filter((file) => file.startsWith("."))).toEqual([]);
    },
    limit,
  );

  it(
    "in SQLite",
    async () => {
      const path = join(folder, "sessions.db");
      await soak({ kind: "sqlite", where: path, open: () => createSessionStorage("sqlite", { path }) });
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
      "in Redis with an append-only file, whose server is killed now and then too",
      async () => {
        await soak({
          kind: "redis",
          where: server.url,
          open: () => createSessionStorage("redis", { url: server.url }),
          crash: () => server.crash(),
        });
      },
      limit,
    );
  });
});
