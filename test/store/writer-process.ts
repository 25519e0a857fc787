import { writeSync } from "node:fs";
import { Session } from "../../packages/stemma/src/session.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { textMessage } from "../helpers/messages.js";

// Runs in a process of its own: writes to a database, and prints a line for each write once it is acknowledged.

export type Task =
  | { readonly do: "append"; readonly prefix: string; readonly count: number }
  | { readonly do: "block"; readonly prefix: string; readonly count: number }
  | { readonly do: "import"; readonly prefix: string; readonly messages: number };

const [path = "", json = ""] = process.argv.slice(2);
const task = JSON.parse(json) as Task;
const store = sqlite(path, { synchronous: "normal", busyTimeout: 30_000 });
// Waits for a reader that is slow: what process.stdout keeps for later is written when the event loop turns, which it never does here.
const acknowledge = (line: string) => writeSync(1, `${line}\n`);

if (task.do === "append") {
  const session = Session.create(store);
  for (let index = 0; index < task.count; index += 1) {
    const id = `${task.prefix}${index}`;
    await session.appendMessage(textMessage(id));
    acknowledge(id);
  }
}

if (task.do === "block") {
  const session = Session.create(store).withContext("memory");
  const ids = Array.from({ length: task.count }, (_, index) => `${task.prefix}${index}`);
  await Promise.all(ids.map((id) => session.appendContextBlock("memory", `${id};`)));
}

if (task.do === "import") {
  for (let round = 0; ; round += 1) {
    const sessionId = `${task.prefix}${round}`;
    const messages = Array.from({ length: task.messages }, (_, index) => ({
      message: textMessage(`m${index}`),
      // Every tenth message is an answer to one further up.
      parentId: index === 0 ? null : `m${index % 10 === 9 ? index - 5 : index - 1}`,
    }));
    await store.session(sessionId).importTree({ messages });
    acknowledge(sessionId);
  }
}

await store.close();
