// Streams a session and prints how many messages it has, their hash, and by how much the process's resident memory grew.
import { createHash } from "node:crypto";
import { openDatabase } from "../database.mjs";
import { Session, sqlite } from "../stemma.mjs";

const [path, sessionId] = process.argv.slice(2);
const db = openDatabase(path);
const store = sqlite(db);
const session = Session.create(store).forSession(sessionId);
// The store opens its tables, and SQLite fills its own cache of pages, which has a fixed size.
await session.getPathLength();
db.prepare("SELECT sum(length(content)) FROM assistant_messages").get();

const before = process.memoryUsage.rss();
let peak = before;
let count = 0;
const hash = createHash("sha256");
for await (const { id, role, parts } of session.history()) {
  hash.update(JSON.stringify([id, role, parts]));
  count += 1;
  if (count % 100 === 0) peak = Math.max(peak, process.memoryUsage.rss());
}
console.log(JSON.stringify({ growth: peak - before, count, hash: hash.digest("hex") }));
await store.close();
