import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { copyStore, exportStore } from "../../../packages/stemma/src/copy.js";
import { jsonlFiles } from "../../../packages/stemma/src/copy-node.js";
import { Session, SessionManager } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { memory } from "../../../packages/store/src/memory.js";
import { type SqliteClient, sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { openDatabase } from "../../store/databases.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-event-loop-"));
const full = memory();
const SESSIONS = 2000;

beforeAll(async () => {
  for (let session = 0; session < SESSIONS; session += 1) {
    const messages = [0, 1, 2, 3].map((index) => ({
      message: textMessage(`m${index}`),
      parentId: index === 0 ? null : `m${index - 1}`,
    }));
    await full.session(`s${session}`).importTree({ messages });
  }
});

afterAll(async () => {
  await full.close();
  rmSync(folder, { recursive: true, force: true });
});

/** How often a timer of 5 ms came while `work` ran. */
async function timersDuring(work: () => Promise<unknown>): Promise<{ timers: number; milliseconds: number }> {
  let timers = 0;
  const timer = setInterval(() => {
    timers += 1;
  }, 5);
  const begun = performance.now();
  await work();
  clearInterval(timer);
  return { timers, milliseconds: performance.now() - begun };
}

async function expectTurns(work: () => Promise<unknown>): Promise<void> {
  const { timers, milliseconds } = await timersDuring(work);
  expect(milliseconds).toBeGreaterThan(100);
  // One call may take longer than a break is late.
  expect(timers).toBeGreaterThan(milliseconds / 100);
}

async function appendFor(store: Store, milliseconds: number): Promise<void> {
  const session = Session.create(store);
  const end = performance.now() + milliseconds;
  for (let index = 0; performance.now() < end; index += 1) await session.appendMessage(textMessage(`a${index}`));
}

describe("timers and sockets have their turn", () => {
  it("while calls on a file are awaited one after the other", async () => {
    const store = sqlite(join(folder, "appends.db"), { synchronous: "normal" });
    await expectTurns(() => appendFor(store, 400));
    await store.close();
  });

  it("while calls fail", async () => {
    const closed = memory();
    await closed.close();
    const end = performance.now() + 300;
    const refused = expect.objectContaining({ code: "STORE_CLOSED" });
    await expectTurns(async () => {
      while (performance.now() < end) await expect(closed.session("s").tree()).rejects.toEqual(refused);
    });
  });

  it("but not in a transaction that the program began", async () => {
    const database = openDatabase();
    const store = sqlite(database as unknown as SqliteClient);
    await store.session("s").tree();
    database.exec("BEGIN");
    const { timers } = await timersDuring(() => appendFor(store, 100));
    database.exec("COMMIT");
    expect(timers).toBe(0);
    await expectTurns(() => appendFor(store, 200));
    await store.close();
  });

  it("while a thousand tasks make calls", async () => {
    const store = memory();
    const end = performance.now() + 1500;
    const task = async (_: unknown, index: number) => {
      const session = Session.create(store).forSession(`s${index}`);
      for (let call = 0; performance.now() < end; call += 1) await session.appendMessage(textMessage(`m${call}`));
    };
    await expectTurns(() => Promise.all(Array.from({ length: 1000 }, task)));
    await store.close();
  });

  it("while a store is exported", async () => {
    await expectTurns(async () => {
      for await (const _ of exportStore(full)) {
        // As a program that only counts them.
      }
    });
  });

  it("while all sessions are looked at for what is too old", async () => {
    await expectTurns(() => new SessionManager(full).retain({ keepMessages: 100 }));
  });

  it("and a copy to files takes few of them, which are long on a busy server", async () => {
    let turns = 0;
    let isOver = false;
    const turn = () => {
      turns += 1;
      for (const end = performance.now() + 2; performance.now() < end; );
      if (!isOver) setImmediate(turn);
    };
    const from = memory();
    const long = Array.from({ length: 1600 }, (_, index) => textMessage(`m${index}`, "a text of some length"));
    await Session.create(from).forSession("long").appendAll(long);
    turn();
    expect(await copyStore(from, jsonlFiles(join(folder, "copy")))).toMatchObject({ ok: true, messages: 1600 });
    isOver = true;
    expect(turns).toBeLessThan(400);
    await from.close();
  });

  it("so that a copy ends when its signal says so", async () => {
    const copy = copyStore(full, memory(), { signal: AbortSignal.timeout(50) });
    await expect(copy).rejects.toMatchObject({ name: "TimeoutError" });
  });
});

it("calls are answered in the order in which they were made, whichever turn they were made in", async () => {
  const session = Session.create(memory());
  const answered: string[] = [];
  const call = (name: string) => session.appendMessage(textMessage(name)).then(() => answered.push(name));
  const first = call("a");
  const third = new Promise((resolve) => setImmediate(() => resolve(call("c"))));
  for (const end = performance.now() + 25; performance.now() < end; );
  await Promise.all([first, call("b"), third]);
  expect(answered).toEqual(["a", "b", "c"]);
});

it("calls that were made together are answered in that order, and take effect at once", async () => {
  const store = memory();
  const session = Session.create(store);
  const answered: number[] = [];
  const end = performance.now() + 300;
  for (let round = 0; performance.now() < end; round += 3) {
    const calls = [0, 1, 2].map((index) =>
      session.appendMessage(textMessage(`m${round + index}`)).then(() => answered.push(round + index)),
    );
    await Promise.all(calls);
  }
  expect(answered).toEqual(answered.map((_, index) => index));
  expect((await session.getHistory()).map(({ id }) => id)).toEqual(answered.map((index) => `m${index}`));
  await store.close();
});
