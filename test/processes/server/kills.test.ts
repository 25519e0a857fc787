import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { StemmaClient } from "../../../packages/client/src/index.js";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { allSessions } from "../../../packages/store/src/index.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { buildCommand, temporaryFolder } from "../../cli/run.js";
import { type Served, startServed } from "../../cli/served.js";
import { textMessage } from "../../helpers/messages.js";
import { describeServer } from "../../postgres/server.js";

/** Kills per store; `STEMMA_KILLS=2000 npx vitest run server/kills` makes them 2,000. */
const KILLS = Number(process.env.STEMMA_KILLS ?? 10);
/** After so many the next one has a new database: forks copy ever longer histories. */
const PER_DATABASE = 20;
const WRITERS = 4;
/** Calls of each writer, of each kind one, in which the server is killed. */
const CALLS = 4;
const ADMIN = "a-secret-of-the-administrator";
const CHAT = "chat";

const folder = temporaryFolder();
let program: string;

beforeAll(async () => {
  program = await buildCommand(folder);
});

/** Servers of one database. One has the requests; the next stands by, and has had none. */
class Servers {
  readonly #start: () => Promise<Served>;
  #present: Served | undefined;
  #next: Promise<Served>;
  /** Requests that were sent, and those of them that got no answer. */
  sent = 0;
  lost = 0;

  constructor(db: string) {
    this.#start = () => startServed(program, ["--db", db, "--rate-limit", "1000000"], { STEMMA_ADMIN_KEY: ADMIN });
    this.#next = this.#start();
  }

  readonly client = new StemmaClient({
    baseUrl: "http://served",
    apiKey: ADMIN,
    fetch: async (request) => {
      this.sent += 1;
      const { url } = await this.#serving();
      try {
        return await fetch(new Request(request.url.replace("http://served", url), request));
      } catch (error) {
        this.lost += 1;
        throw error;
      }
    },
  });

  /** Ends the present server without warning. */
  async kill(): Promise<void> {
    const killed = await this.#serving();
    killed.process.stop("SIGKILL");
    this.#present = undefined;
    await killed.process.ended;
  }

  async stop(): Promise<void> {
    for (const { process } of [await this.#serving(), await this.#next]) {
      process.stop("SIGKILL");
      await process.ended;
    }
  }

  async #serving(): Promise<Served> {
    if (this.#present !== undefined) return this.#present;
    const next = await this.#next;
    // Several requests may wait for it.
    if (this.#present === undefined) {
      this.#present = next;
      this.#next = this.#start();
    }
    return this.#present;
  }
}

/** Writes that are not the same when they are done twice, but for the first. */
const KINDS: readonly ((client: StemmaClient, name: string) => Promise<unknown>)[] = [
  (client, name) => client.messages.append(CHAT, textMessage(name)),
  (client) => client.usage.add(CHAT, { inputTokens: 1, outputTokens: 2 }),
  (client, name) => client.memory.blocks.append(`session:${CHAT}`, "notes", { append: name, maxTokens: 1_000_000 }),
  (client, name) => client.sessions.fork(CHAT, { messageId: "first", name }),
];

/** Each writer makes its calls, one after the other, and the server is killed in the middle of them. */
async function killAmidWrites(servers: Servers, round: string): Promise<string[]> {
  const names: string[] = [];
  const last = servers.sent + Math.floor(Math.random() * WRITERS * CALLS);
  const write = async (writer: number) => {
    for (let call = 0; call < CALLS; call += 1) {
      const name = `${round}-${writer}-${call}`;
      await KINDS[(writer + call) % KINDS.length]?.(servers.client, name);
      names.push(name);
    }
  };
  const kill = async () => {
    while (servers.sent <= last) await new Promise((next) => setImmediate(next));
    await new Promise((next) => setTimeout(next, Math.random() * 6));
    await servers.kill();
  };
  await Promise.all([kill(), ...Array.from({ length: WRITERS }, (_, writer) => write(writer))]);
  return names;
}

/** What is not there exactly once, of the writes whose names are given. */
async function wrongIn(store: Store, names: readonly string[]): Promise<unknown[]> {
  const ofKind = (kind: number) =>
    names.filter((name) => {
      const [, writer, call] = name.split("-").map(Number);
      return ((writer as number) + (call as number)) % KINDS.length === kind;
    });
  const [messages, usages, lines, forks] = [0, 1, 2, 3].map(ofKind) as [string[], string[], string[], string[]];
  const wrong: unknown[] = (await store.check?.())?.problems.slice() ?? ["there is no check"];
  const compare = (what: string, found: readonly string[], wanted: readonly string[]) => {
    const [a, b] = [found.toSorted(), wanted.toSorted()];
    if (a.join() !== b.join())
      wrong.push({ what, twice: a.filter((x, i) => x === a[i - 1]), found: a.length, wanted: b.length });
  };
  compare(
    "messages",
    (await store.session(CHAT).tree()).map(({ id }) => id),
    ["first", ...messages],
  );
  const { content = "" } = (await store.blocks.get({ sessionId: CHAT, kind: "block", label: "notes" })) ?? {};
  compare("lines of the block", content.split("\n").filter(Boolean), lines);
  const named: string[] = [];
  for await (const { id, name } of allSessions(store)) if (id !== CHAT) named.push(name);
  compare("forks", named, forks);
  for (const { requests, inputTokens, outputTokens } of await store.sessions.usage({ by: "session" })) {
    if (requests !== usages.length || inputTokens !== requests || outputTokens !== 2 * requests)
      wrong.push({ requests, inputTokens, outputTokens, wanted: usages.length });
  }
  return wrong;
}

async function killAll(place: () => Promise<string>, open: (db: string) => Store): Promise<void> {
  let lost = 0;
  let calls = 0;
  const wrong: unknown[] = [];
  for (let done = 0; done < KILLS; ) {
    const db = await place();
    const servers = new Servers(db);
    const names: string[] = [];
    try {
      await servers.client.sessions.create({ id: CHAT, name: CHAT });
      await servers.client.messages.append(CHAT, textMessage("first"));
      const last = Math.min(KILLS, done + PER_DATABASE);
      for (; done < last; done += 1) names.push(...(await killAmidWrites(servers, String(done))));
    } finally {
      await servers.stop();
    }
    const store = open(db);
    wrong.push(...(await wrongIn(store, names)));
    await store.close();
    lost += servers.lost;
    calls += names.length;
    if (KILLS > PER_DATABASE)
      console.log(`${done} kills, ${calls} writes, ${lost} requests lost, ${wrong.length} wrong`);
  }
  expect(wrong).toEqual([]);
  expect(lost).toBeGreaterThan(KILLS / 2);
}

// Each writes a little, and starts a server.
const PATIENCE = 60_000 + KILLS * 20_000;

describe("a server that is killed in the middle of writes", () => {
  it("has each of them done once, when it is asked for again, on SQLite", { timeout: PATIENCE }, async () => {
    let number = 0;
    await killAll(
      async () => join(folder, `killed-${number++}.db`),
      (db) => sqlite(db),
    );
  });
});

describeServer("a server on Postgres that is killed in the middle of writes", (server) => {
  it("has each of them done once, when it is asked for again", { timeout: PATIENCE }, async () => {
    await killAll(
      () => server.createDatabase(),
      (db) => postgres(db),
    );
  });
});
