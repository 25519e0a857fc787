// Serves sessions one after the other, and says how much memory is in use after each tenth of them.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Queue } from "../../packages/model/src/lib/queue.js";
import { createSession, FileSessionStorage, MemorySessionStorage, openStore } from "../../packages/stemma/src/agent.js";
import { type Session, SessionManager } from "../../packages/stemma/src/session.js";
import type { Store } from "../../packages/store/src/contract/store.js";
import { memory } from "../../packages/store/src/memory.js";
import { orderOf } from "../../packages/store/src/sql/store-of.js";
import { sqlite } from "../../packages/store/src/sqlite.js";
import { collect, says, scripted } from "./mock-model.js";

const [what = "", count = "1000"] = process.argv.slice(2);
const collectGarbage = (globalThis as unknown as { gc(): void }).gc;

/** Bytes that are in use once nothing is left to collect; of a program that is `busy`, without a turn of the event loop. */
async function inUse(busy = false): Promise<number> {
  for (let round = 0; round < 3; round += 1) {
    if (!busy) await new Promise((resolve) => setTimeout(resolve, 10));
    collectGarbage();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const message = (id: string) => ({ id, role: "user", parts: [{ type: "text", text: "Hello ".repeat(20) }] });

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "stemma-level-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A store on a disk. Its writes need not last, for what is measured is what the process holds. */
function storeOnDisk(): Store {
  return sqlite(join(temporaryFolder(), "sessions.db"), { synchronous: "normal" });
}

const programs: Record<string, () => Promise<(index: number) => Promise<void>>> = {
  async manager() {
    const store = storeOnDisk();
    const manager = SessionManager.create(store).withContext("memory").withCachedPrompt();
    return async (index) => {
      const id = `session-${index}`;
      await manager.append(id, message("a"));
      const session = manager.getSession(id);
      const [{ length }] = await Promise.all([session.getHistory(), session.freezeSystemPrompt()]);
      session.subscribe(() => {})();
      if (length !== 1 || orderOf(store).size > 0)
        throw new RangeError(`${length} messages, ${orderOf(store).size} keys`);
    };
  },
  async queue() {
    const queue = new Queue();
    return async (index) => {
      const locks = { read: ["shared"], write: [`session-${index}`] };
      await Promise.all([queue.hold(locks, async () => {}), queue.read(`session-${index}`, async () => {})]);
      if (queue.size > 0) throw new RangeError(`${queue.size} keys`);
    };
  },
  async "runner on a store"() {
    const sessionStorage = storeOnDisk();
    return async (index) => {
      const session = await createSession({ sessionStorage, model: scripted(), id: `session-${index}` });
      await session.close();
    };
  },
  async runner() {
    const sessionStorage = new FileSessionStorage(temporaryFolder());
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
    if ((index + 1) % (Number(count) / 10) > 0) continue;
    figures.push(await inUse(what === "manager"));
    process.stderr.write(`${what}: ${index + 1} sessions, ${((figures.at(-1) ?? 0) / 1e6).toFixed(2)} MB in use\n`);
  }
  process.stdout.write(`${JSON.stringify(figures)}\n`);
}
process.exit();
