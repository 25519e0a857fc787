// Waits for a call whose provider, or function, never answers, and writes what became of it. Nothing else goes on here.
import { memory } from "../../src/memory.js";
import { Session } from "../../src/session.js";

const never = () => new Promise<never>(() => {});
let isSilent = false;
const session = Session.create(memory())
  .withContext("slow", { provider: { get: () => (isSilent ? never() : Promise.resolve("x")) } })
  .withContext("memory")
  .withCachedPrompt()
  .onCompaction(never, { timeout: 50 })
  .onLearning(never, { timeout: 50 });
const told: string[] = [];
session.subscribe((event) => event.type === "cf_agent_session_error" && told.push(event.error));

const calls = {
  clear: () => session.clearMessages(),
  compact: () => session.compact(),
  close: () => session.close(),
};

const text = (id: string) => ({ type: "text", text: `${id} ${"said ".repeat(2000)}` });
await session.appendAll(["a", "b", "c", "d", "e"].map((id) => ({ id, role: "user", parts: [text(id)] })));
await session.freezeSystemPrompt();
isSilent = true;
await calls[process.argv[2] as keyof typeof calls]();
console.log(JSON.stringify(told));
