// Streams a session and prints how many messages it has, their hash, and by how much the process's resident memory grew.
import { createHash } from "node:crypto";
import { openDatabase } from "../database.mjs";
import { Session, sqlite } from "../stemma.mjs";

const [path, sessionId] = process.argv.slice(2);
const store = sqlite(openDatabase(path));
const session = Session.create(store).forSession(sessionId);
await session.getPathLength();

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
