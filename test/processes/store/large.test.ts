import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import type { Store } from "../../../packages/store/src/contract/store.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";

// One session of 100,050 messages, filled once; what is measured is measured side by side with a small session, so that
// a busy machine slows both.

const MESSAGES = 100_050;
const MEASURED_AT = 50_000;
const SMALL = 1000;
const BATCH = 2500;

const folder = mkdtempSync(join(tmpdir(), "stemma-large-"));
const idOf = (index: number) => `m${index}`;
const message = (index: number) => ({
  id: idOf(index),
  role: index % 2 === 0 ? "user" : "assistant",
  parts: [{ type: "text", text: `Message ${index} says that the deployment of part ${index % 97} is due.` }],
});

let store: Store;
let large: Session;
let small: Session;

/** Appends messages `from` up to `to`. */
async function fill(session: Session, from: number, to: number): Promise<void> {
  for (let start = from; start < to; start += BATCH) {
    const length = Math.min(BATCH, to - start);
    await session.appendAll(Array.from({ length }, (_, index) => message(start + index)));
  }
}

beforeAll(() => {
  store = sqlite(join(folder, "large.db"), { synchronous: "normal" });
  large = Session.create(store).forSession("large");
  small = Session.create(store).forSession("small");
});

afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

describe("a session of 100,050 messages", () => {
  it("costs at most 1.5 times as much to append to at 50,000 as at 1,000", async () => {
    await fill(large, 0, MEASURED_AT);
    await fill(small, 0, SMALL);
    const times = { large: [] as number[], small: [] as number[] };
    const measure = async (session: Session, into: number[], index: number) => {
      const start = performance.now();
      await session.appendMessage(message(index));
      into.push(performance.now() - start);
    };
    const rounds = 400;
    for (let round = 0; round < rounds; round += 1) {
      await measure(large, times.large, MEASURED_AT + round);
      await measure(small, times.small, SMALL + round);
    }
    const ratio = median(times.large) / median(times.small);
    console.log(`append at 50,000 against 1,000: ${ratio.toFixed(2)} of ${(median(times.small) * 1000).toFixed(0)} µs`);
    expect(ratio).toBeLessThan(1.5);
    await fill(large, MEASURED_AT + rounds, MESSAGES);
  });

  it("reads back complete and in order as an array", async () => {
    const history = await large.getHistory();
    expect(history.length).toBe(MESSAGES);
    expect(history.every(({ id }, index) => id === idOf(index))).toBe(true);
    expect(history[77_777]).toEqual(message(77_777));
    expect(await large.getPathLength()).toBe(MESSAGES);
  });

  it("reads back complete and in order as a stream, oldest or newest first", async () => {
    let index = 0;
    for await (const { id } of large.history()) {
      if (id !== idOf(index)) throw new RangeError(`${id} stands where ${idOf(index)} should`);
      index += 1;
    }
    expect(index).toBe(MESSAGES);
    for await (const { id } of large.history({ newestFirst: true })) {
      index -= 1;
      if (id !== idOf(index)) throw new RangeError(`${id} stands where ${idOf(index)} should`);
    }
    expect(index).toBe(0);
  });

  it("gives its recent end without reading the rest", async () => {
    const recent = await large.getRecentHistory(10_000);
    expect(recent.messages.at(-1)).toEqual(message(MESSAGES - 1));
    expect(recent.truncated).toBe(true);
    const timed = async (read: () => Promise<unknown>) => {
      const start = performance.now();
      await read();
      return performance.now() - start;
    };
    const whole = await timed(() => large.getHistory());
    const ends: number[] = [];
    for (let round = 0; round < 9; round += 1) ends.push(await timed(() => large.getRecentHistory(10_000)));
    expect(median(ends) / whole).toBeLessThan(0.05);
  });

  it("stays whole when a message in its middle is deleted, compacted over and branched from", async () => {
    await large.deleteMessages([idOf(60_000)]);
    expect(await large.getPathLength()).toBe(MESSAGES - 1);
    await large.addCompaction("the first half", idOf(0), idOf(49_999));
    expect((await large.getHistory()).length).toBe(MESSAGES - 1 - 49_999);
    await large.appendMessage({ id: "branch", role: "user", parts: [] }, idOf(99_000));
    expect(await large.getPathLength()).toBe(99_001);
  });
});

function median(values: number[]): number {
  const sorted = values.slice().sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] as number;
}
