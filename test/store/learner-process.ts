// Learns from whatever is due in a file, or in a database of Postgres, and writes a line for each call of its learn function, before it answers after a pause.

import { postgres } from "../../packages/postgres/src/postgres.js";
import { SessionManager } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";

const [path = "", pause = "0"] = process.argv.slice(2);
const store = path.startsWith("postgres") ? postgres(path) : sqlite(path);
const manager = SessionManager.create(store)
  .withContext("memory", { scope: "user", maxTokens: 50_000 })
  .onLearning(async ({ messages }) => {
    const said = messages.filter(({ role }) => role === "user");
    await new Promise<void>((resolve) => {
      process.stdout.write(`${JSON.stringify(said.map(({ id }) => id))}\n`, () => resolve());
    });
    await new Promise((resolve) => setTimeout(resolve, Number(pause)));
    const edits = said.map(({ id, parts }) => {
      return { action: "add" as const, label: "memory", content: String(parts[0]?.text), messageIds: [id] };
    });
    return { edits, usage: { inputTokens: 10, outputTokens: 1, cost: 1 } };
  });
const { sessions, usage, failed } = await manager.learnDue();
await store.close();
console.log(JSON.stringify({ sessions, cost: usage.cost, failed }));
