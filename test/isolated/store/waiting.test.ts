import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { afterAll, describe, expect, it } from "vitest";
import { Session } from "../../../packages/stemma/src/session.js";
import { sqlite } from "../../../packages/store/src/sqlite.js";
import { textMessage } from "../../helpers/messages.js";
import { isStandIn } from "../../runtimes/stand-in.js";

const folder = mkdtempSync(join(tmpdir(), "stemma-waiting-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// Holds the file nearly all the time: 98 of 100 milliseconds, which is as long as SQLite sleeps between two tries.
const HOLDER = `
const { parentPort, workerData } = require("node:worker_threads");
const database = new (${isStandIn ? 'require("node:sqlite").DatabaseSync' : 'require("better-sqlite3")'})(workerData);
database.exec("PRAGMA busy_timeout = 5000");
const sleep = (ms) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
parentPort.postMessage("holds");
for (;;) {
  database.exec("BEGIN IMMEDIATE");
  sleep(98);
  database.exec("COMMIT");
  sleep(2);
}`;

describe("a writer beside one that hardly lets go of the file", () => {
  it("comes in at one of the first moments at which it can", async () => {
    const path = join(folder, "held.db");
    const store = sqlite(path, { busyTimeout: 20_000 });
    const session = Session.create(store);
    await session.appendMessage(textMessage("first"));
    const holder = new Worker(HOLDER, { eval: true, workerData: path });
    await new Promise((resolve) => holder.once("message", resolve));
    const waits: number[] = [];
    for (let index = 0; index < 12; index += 1) {
      // While it is held.
      await new Promise((resolve) => setTimeout(resolve, 10));
      const start = performance.now();
      await session.appendMessage(textMessage(`m${index}`));
      waits.push(performance.now() - start);
    }
    await holder.terminate();
    await store.close();
    console.log(`waited for ${waits.map((wait) => wait.toFixed(0)).join(", ")} ms`);
    // A turn is 100 ms.
    expect(waits.reduce((sum, wait) => sum + wait, 0)).toBeLessThan(12 * 500);
  });
});
