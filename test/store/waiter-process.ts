// Waits for a call whose provider, or function, never answers, and writes what became of it. Nothing else goes on here. Or it
// waits for none of them, and closes the store.

import { Session } from "../../packages/stemma/src/session.js";
import { memory } from "../../packages/store/src/memory.js";

const never = () => new Promise<never>(() => {});
let isSilent = false;
const store = memory();
const session = Session.create(store)
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
  title: () => background((chat, ask) => chat.withTitle(ask)),
  learn: () => background((chat, ask) => chat.onLearning(ask, { idleAfter: 1 })),
};

/** Closes the store once a function is asked for which nobody waits. */
async function background(configure: (chat: Session, ask: () => Promise<never>) => unknown): Promise<void> {
  let asked = (): void => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const ask = () => {
    asked();
    return never();
  };
  const chat = Session.create(store).forSession("chat").withContext("memory");
  configure(chat, ask);
  await chat.appendAll([
    { id: "u", role: "user", parts: [{ type: "text", text: "said" }] },
    { id: "a", role: "assistant", parts: [{ type: "text", text: "answered" }] },
  ]);
  const alive = setTimeout(() => {}, 60_000);
  await isAsked;
  clearTimeout(alive);
  await store.close();
}

const text = (id: string) => ({ type: "text", text: `${id} ${"said ".repeat(2000)}` });
await session.appendAll(["a", "b", "c", "d", "e"].map((id) => ({ id, role: "user", parts: [text(id)] })));
await session.freezeSystemPrompt();
isSilent = true;
await calls[process.argv[2] as keyof typeof calls]();
console.log(JSON.stringify(told));
