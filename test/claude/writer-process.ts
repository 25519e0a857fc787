import { claudeSessionStore, memoryTool } from "../../packages/stemma/src/claude.js";
import { Session } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

// Runs in a process of its own: appends to one transcript, and edits one file of one memory.

const [path = "", name = "", count = ""] = process.argv.slice(2);
const store = sqlite(path, { synchronous: "normal", busyTimeout: 30_000 });
const transcripts = claudeSessionStore(store);
const tool = memoryTool(Session.create(store).forSession(name), { scope: { key: "team" } });

for (let index = 0; index < Number(count); index += 1) {
  const text = `${name}${index}`;
  const entries = [
    { type: "custom-title", customTitle: text },
    { type: "user", uuid: text, parentUuid: null, message: { role: "user", content: text } },
  ];
  await transcripts.append({ projectKey: "p", sessionId: "s" }, entries);
  await tool.insert({ path: "/memories/notes.md", insert_line: 0, insert_text: text });
}
await store.close();
