import { rmSync } from "node:fs";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, it } from "vitest";
import { hashingEmbedder } from "../../../packages/stemma/src/testing.js";
import type { EmbeddableStore } from "../../../packages/store/src/embeddings/contract.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";

const FILE = `/tmp/stemma-numbers-${process.pid}.db`;

let store: EmbeddableStore;
beforeEach(() => {
  for (const end of ["", "-wal", "-shm"]) rmSync(FILE + end, { force: true });
  store = sqlite(FILE);
});
afterEach(() => store.close());

const texts = (count: number, word: string) =>
  Array.from({ length: count }, (_, index) => textMessage(`m${index}`, `${word} ${index}`));

function numbers(): number[] {
  const database = new Database(FILE, { readonly: true });
  const rows = database.prepare("SELECT no FROM assistant_sessions ORDER BY no").pluck().all();
  database.close();
  return rows as number[];
}

it("sessions that are made and deleted in turn use few numbers", async () => {
  for (let at = 0; at < 40; at += 1) {
    await store.session(`s${at}`).append(texts(1, "said"));
    if (at < 39) await store.sessions.delete(`s${at}`);
  }
  expect(numbers()).toEqual([1]);
});

it("a session gets a free number where the last one is taken", async () => {
  await store.session("a").append(texts(1, "said"));
  const database = new Database(FILE);
  database.exec(
    "INSERT INTO assistant_sessions (no, id, registered, name, created_at, updated_at) SELECT 33554431, 'last', registered, 'last', created_at, updated_at FROM assistant_sessions",
  );
  database.close();
  await store.session("b").append(texts(1, "said"));
  expect(numbers()).toHaveLength(3);
  expect(numbers()[1]).toBeLessThan(33_554_431);
});

it("an open history shows nothing of the session that has the number since", async () => {
  await store.session("old").append(texts(200, "old"));
  const stream = store.session("old").stream({})[Symbol.asyncIterator]();
  const first = await stream.next();
  await store.sessions.delete("old");
  await store.session("new").append(texts(300, "new"));
  expect(numbers()).toEqual([1]);
  const read = [first.value];
  for (let next = await stream.next(); next.done !== true; next = await stream.next()) read.push(next.value);
  expect(read.filter((message) => JSON.stringify(message).includes("new"))).toEqual([]);
});

it("a vector that was waited for is not given to the session that has the number since", async () => {
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const { embed, ...rest } = hashingEmbedder();
  const slow = store.withEmbedder({
    ...rest,
    embed: async (given: string[], options: { readonly signal: AbortSignal }) => {
      await held;
      return (embed as (texts: string[], options: unknown) => PromiseLike<number[][]>)(given, options);
    },
  } as Parameters<typeof store.withEmbedder>[0]);
  await slow.session("old").append(texts(3, "apples"));
  const flushed = slow.embeddings.flush();
  await new Promise((resolve) => setTimeout(resolve, 200));
  await slow.sessions.delete("old");
  await slow.session("new").append(texts(3, "apples"));
  release();
  await flushed;
  expect(await slow.embeddings.backlog()).toBe(0);
  expect((await slow.check?.())?.problems).toEqual([]);
});
