// Readers of an answer that another process writes: a store of its own stands for each process.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessageChunk } from "ai";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type HeldRun, SessionRuns } from "../../../packages/chat/src/ai-sdk/run/runs.js";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { longestHold } from "../../helpers/longest-hold.js";
import { patience } from "../../helpers/patience.js";

const SECOND = 1000;
const WORDS = ["one ", "two ", "three"];

let folder: string;
let stores: Store[];
/** Of the store that reads. */
let statements: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "stemma-readers-"));
  stores = [0, 1].map(() => sqlite(join(folder, "chat.db")));
  statements = 0;
  stores[1]?.observeStatements?.((connection) => {
    if (connection.kind !== "sync") return connection;
    const query: typeof connection.query = (statement) => {
      statements += 1;
      return connection.query(statement);
    };
    return Object.assign(Object.create(connection), { query });
  });
});

afterEach(async () => {
  for (const store of stores) await store.close();
  rmSync(folder, { recursive: true });
});

const runsOf = (store: Store | undefined, id: string) => new SessionRuns(Session.create(store as Store).forSession(id));
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));
const delta = (text: string): UIMessageChunk => ({ type: "text-delta", id: "t", delta: text });

async function answering(id: string): Promise<{ say(text: string): void; end(): Promise<void> }> {
  const runs = runsOf(stores[0], id);
  const state = { runId: `run-${id}`, questionId: null, answerId: "a", leafBefore: null };
  const held: HeldRun = await runs.claim(state, { lease: 60 * SECOND, whenBusy: "reject" });
  held.keeper.begin();
  return { say: (text) => held.keeper.push(delta(text)), end: () => runs.release(held, "completed") };
}

async function reading(id: string): Promise<ReadableStreamDefaultReader<UIMessageChunk>> {
  return ((await runsOf(stores[1], id).stream()) as ReadableStream<UIMessageChunk>).getReader();
}

async function allOf(reader: ReadableStreamDefaultReader<UIMessageChunk>): Promise<string> {
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text;
    if (value.type === "text-delta") text += value.delta;
  }
}

it("reads the store once for all readers of an answer, each of which gets all of it", async () => {
  const run = await answering("s");
  run.say(WORDS[0] as string);
  const early = await Promise.all(Array.from({ length: 500 }, () => reading("s")));
  const texts = early.map(allOf);
  await sleep(SECOND / 2);
  run.say(WORDS[1] as string);
  statements = 0;
  const held = await longestHold(() => sleep(2 * SECOND));
  // Each of them for itself asks twenty times a second.
  expect(statements).toBeLessThan(100);
  expect(held).toBeLessThan(patience(200));
  const late = allOf(await reading("s"));
  run.say(WORDS[2] as string);
  await run.end();
  expect(new Set(await Promise.all([...texts, late]))).toEqual(new Set([WORDS.join("")]));
});

it("looks less often at an answer that pauses, and no more once nobody reads it", async () => {
  const run = await answering("s");
  const [one, other] = [await reading("s"), await reading("s")];
  await sleep(4 * SECOND);
  statements = 0;
  await sleep(2 * SECOND);
  expect(statements).toBeGreaterThan(0);
  expect(statements).toBeLessThan(20);
  await one.cancel();
  statements = 0;
  await sleep(2 * SECOND);
  expect(statements).toBeGreaterThan(0);
  await other.cancel();
  await sleep(100);
  statements = 0;
  await sleep(2 * SECOND);
  expect(statements).toBe(0);
  run.say("again");
  const next = allOf(await reading("s"));
  await run.end();
  expect(await next).toBe("again");
});

it("makes no more reads for readers of many answers than a process can", async () => {
  const ids = Array.from({ length: 500 }, (_, index) => `s${index}`);
  const runs: Awaited<ReturnType<typeof answering>>[] = [];
  for (const id of ids) runs.push(await answering(id));
  const texts = [];
  for (const id of ids) texts.push(allOf(await reading(id)));
  await sleep(2 * SECOND);
  statements = 0;
  const held = await longestHold(async () => {
    for (const [index, run] of runs.entries()) run.say(`answer ${index}`);
    await sleep(2 * SECOND);
  });
  expect(held).toBeLessThan(patience(200));
  // 20,000 when each of them asks ten times a second for the run and for what is new.
  expect(statements).toBeLessThan(6000);
  for (const run of runs) await run.end();
  expect(await Promise.all(texts)).toEqual(ids.map((_, index) => `answer ${index}`));
});

it("fails all readers with what the store fails with", async () => {
  await answering("s");
  const texts = [await reading("s"), await reading("s")].map(allOf);
  await stores[1]?.close();
  const results = await Promise.allSettled(texts);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

it("looks once for all who wait until an answer of another process has ended", async () => {
  const run = await answering("s");
  const waiting = Promise.all(Array.from({ length: 500 }, () => runsOf(stores[1], "s").idle(60 * SECOND)));
  await sleep(SECOND / 2);
  statements = 0;
  await sleep(2 * SECOND);
  // Each of them for itself asks five times a second.
  expect(statements).toBeLessThan(100);
  await run.end();
  await waiting;
});
