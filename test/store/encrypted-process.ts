// Writes into an encrypted file, says so, and waits to be killed. With "fill" it leaves deleted data and an index behind, too.
import { SessionManager } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

const [path = "", key = "", canary = ""] = process.argv.slice(2);
const store = sqlite(path, { key });
const manager = SessionManager.create(store).withContext("memory");
const say = (id: string) => ({
  id,
  role: "user" as const,
  parts: [{ type: "text" as const, text: `${canary} ${id}` }],
});
const session = manager.getSession(`${canary}-session`);
await session.appendAll(Array.from({ length: 300 }, (_, index) => say(`${canary}-${index}`)));
await session.replaceContextBlock("memory", `${canary} remembered`);
await manager.search(canary);
await session.deleteMessages([`${canary}-7`]);
await manager.append("gone", say("gone"));
await manager.delete("gone");
await store.scrub?.();
await session.appendMessage(say("last"));
process.stdout.write("ready\n");
setInterval(() => {}, 1000);
