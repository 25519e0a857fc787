import { join } from "node:path";
import Database from "better-sqlite3";
import { message } from "../../packages/conformance/src/samples.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import type { Row } from "../tools/row.js";

const TURNS = 10;

/** Bytes in use once there is nothing left to collect. */
async function inUse(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    (globalThis as unknown as { gc(): void }).gc();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** A process serves one session after the other, ten turns each: a question, an answer, and the history in between. */
export const levelHeap: Row = {
  number: 24,
  title: "{size} turns, ten in each session: growth of the memory in use from the second tenth on",
  target: "≤ 5 MB",
  sizes: { SQLite: [1_000_000, 5_000] },
  async run({ folder, size }) {
    const database = new Database(join(folder, "level.db"));
    // What is measured is what the process holds, not what the disk keeps.
    for (const pragma of ["journal_mode = WAL", "synchronous = OFF"]) database.pragma(pragma);
    const manager = SessionManager.create(sqlite(database)).withContext("memory").withCachedPrompt();
    const sessions = size / TURNS;
    const figures: number[] = [];
    for (let index = 0; index < sessions; index += 1) {
      const session = manager.getSession(`session-${index}`);
      await session.freezeSystemPrompt();
      for (let turn = 0; turn < TURNS; turn += 1) {
        await session.appendMessage(message(`u${turn}`, "Hello ".repeat(20)));
        await session.getHistory();
        await session.appendMessage(message(`a${turn}`, "Well ".repeat(20), "assistant"));
      }
      if ((index + 1) % (sessions / 10) === 0) figures.push(await inUse());
    }
    const growth = ((figures.at(-1) ?? 0) - (figures[1] ?? 0)) / 1e6;
    return { figure: `${growth.toFixed(1)} MB`, met: growth <= 5, details: figures };
  },
};
