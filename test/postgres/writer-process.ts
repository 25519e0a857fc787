import { postgres } from "../../packages/postgres/src/postgres.js";
import { Session } from "../../packages/stemma/src/session.js";

// Runs in a process of its own: writes to a database, and prints a line for each write once it is acknowledged.

export interface Task {
  readonly do: "append" | "block";
  readonly prefix: string;
  readonly count: number;
}

const [url = "", json = ""] = process.argv.slice(2);
const task = JSON.parse(json) as Task;
const store = postgres(url);
const session = Session.create(store).withContext("memory");

await Promise.all(
  Array.from({ length: task.count }, async (_, index) => {
    const id = `${task.prefix}${index}`;
    if (task.do === "append") {
      await session.appendMessage({ id, role: "user", parts: [{ type: "text", text: `text of ${id}` }] });
    } else {
      await session.appendContextBlock("memory", `${id};`);
    }
    process.stdout.write(`${id}\n`);
  }),
);

await store.close();
