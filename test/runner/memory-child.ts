// Serves sessions one after the other, and says how much memory is in use now and then.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSession, FileSessionStorage, MemorySessionStorage, openStore } from "../../src/agent.js";
import { memory } from "../../src/memory.js";
import { type Session, SessionManager } from "../../src/session.js";
import { collect, says, scripted } from "./mock-model.js";

const [what = "", count = "1000"] = process.argv.slice(2);
const collectGarbage = (globalThis as unknown as { gc(): void }).gc;

/** Bytes that are in use once nothing is left to collect. */
async function inUse(): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const message = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: "Hello ".repeat(20) }] });

const programs: Record<string, () => Promise<(index: number) => Promise<void>>> = {
  async manager() {
    // The messages go: what is measured is the manager, not the database.
    const store = memory();
    const manager = SessionManager.create(store).withContext("memory").withCachedPrompt();
    return async (index) => {
      const id = `session-${index}`;
      await manager.append(id, message("a"));
      await manager.getSession(id).freezeSystemPrompt();
      manager.getSession(id).subscribe(() => {})();
      await store.sessions.delete(id);
    };
  },
  async runner() {
    const directory = mkdtempSync(join(tmpdir(), "stemma-level-"));
    process.once("exit", () => rmSync(directory, { recursive: true, force: true }));
    const sessionStorage = new FileSessionStorage(directory);
    return async (index) => {
      const session = await createSession({ sessionStorage, model: scripted(says("Well.")), id: `session-${index}` });
      await session.send("Hello ".repeat(2000));
      await collect(session.receive());
      await session.close();
      await sessionStorage.delete(session.id);
    };
  },
  async "a store on a storage"() {
    const storage = new MemorySessionStorage();
    const manager = SessionManager.create(await openStore(storage));
    return async (index) => {
      await manager.append(`session-${index}`, message("a"));
      storage.clear();
    };
  },
};

/** What is held on to stays the same object; what is not goes. */
async function identity(): Promise<void> {
  const manager = SessionManager.create(memory()).withContext("memory");
  let finish = () => {};
  let listening = 0;
  const marks = new WeakMap<Session, string>();
  const use = (id: string): void => {
    marks.set(manager.getSession(id), id);
  };
  use("free");
  const others = () => {
    for (let index = 0; index < 200; index += 1) manager.getSession(`other-${index}`);
  };
  use("subscribed");
  use("busy");
  const unsubscribe = manager.getSession("subscribed").subscribe(() => {
    listening += 1;
  });
  await manager.append("busy", message("a"));
  const held = manager.getSession("held");
  marks.set(held, "held");
  // A provider that takes its time.
  const slow = new Promise<string>((resolve) => {
    const timer = setInterval(() => {}, 1000);
    finish = () => {
      clearInterval(timer);
      resolve("now");
    };
  });
  const adding = manager.getSession("busy").addContext("slow", { provider: { get: () => slow } });
  const tools = await manager.getSession("tools").tools();
  use("tools");
  others();
  await inUse();
  const known = () => ["free", "subscribed", "busy", "held", "tools"].filter((id) => marks.has(manager.getSession(id)));
  const during = known();
  await manager.append("subscribed", message("a"));
  finish();
  await adding;
  unsubscribe();
  others();
  await inUse();
  const after = known();
  process.stdout.write(`${JSON.stringify({ during, listening, after, held: held.id, tools: Object.keys(tools) })}\n`);
}

if (what === "identity") {
  await identity();
} else {
  const serve = await (programs[what] as (typeof programs)[string])();
  const figures: number[] = [];
  for (let index = 0; index < Number(count); index += 1) {
    await serve(index);
    if ((index + 1) % (Number(count) / 4) === 0) figures.push(await inUse());
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
process.exit();
