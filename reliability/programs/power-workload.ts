// Writes to a store in SQLite, and says what it was told is stored: `<path> <full or normal>`. The log is checkpointed often, so
// that the power is cut in many checkpoints; all else is as `sqlite(path)` opens it.
import { writeSync } from "node:fs";
import Database from "better-sqlite3";
import { message } from "../../packages/conformance/src/samples.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

const [path = "", synchronous = ""] = process.argv.slice(2);
const database = new Database(path);
for (const pragma of ["journal_mode = WAL", `synchronous = ${synchronous}`, "wal_autocheckpoint = 80"]) {
  database.pragma(pragma);
}
const store = sqlite(database);
const manager = SessionManager.create(store).withContext("memory");
const session = manager.getSession("main");
for (let index = 0; index < 100; index += 1) {
  await session.appendMessage(message(`m${index}`, `text ${index} `.repeat(index % 25 === 0 ? 900 : 30)));
  writeSync(1, `message m${index}\n`);
  if (index % 5 === 0) await session.appendContextBlock("memory", `b${index}`);
  if (index % 5 === 0) writeSync(1, `block b${index}\n`);
  if (index % 20 === 10) await session.addCompaction("what was said", `m${index - 5}`, `m${index - 2}`);
  if (index % 40 === 30) await manager.fork("main", `m${index}`, "a fork", { id: `fork-${index}` });
  if (index % 40 === 30) await manager.delete(`fork-${index - 40}`);
}
await store.close();
