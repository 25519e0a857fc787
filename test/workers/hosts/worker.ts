import { authenticator, Quotas, UserTokens } from "../../../packages/server/src/index.js";
import { createWorker, type ObjectNamespace, userMemory } from "../../../packages/server/src/worker/index.js";
import { createLearnFunction, SessionManager } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { RemoteObject, route } from "../agent.js";
import { SECRET } from "../memory-per-user/secret.js";

const learn = createLearnFunction({
  extract: ({ messages }) =>
    messages.map(({ id }) => ({ action: "add" as const, label: "memory", content: `Said ${id}.`, messageIds: [id] })),
});

const AUDIENCE = "https://memory.example.com";

/** The object of a user, whose alarm does what a program may have it do. */
export class Memory extends RemoteObject<null> {
  readonly #store = durableObject(this.ctx as never);
  readonly #memory = userMemory(this.ctx as never, {
    store: this.#store,
    quotas: new Quotas(this.#store, { quota: { requestsPerDay: 500 } }),
    retention: { keepMessages: 1 },
  });

  override fetch(request: Request): Promise<Response> {
    return request.url.startsWith("http://worker/Memory/") ? super.fetch(request) : this.#memory.fetch(request);
  }

  async ring(work: "append" | "learn" | "upkeep", userId: string): Promise<void> {
    this.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS test_work (work TEXT, user_id TEXT)");
    this.ctx.storage.sql.exec("INSERT INTO test_work VALUES (?, ?)", work, userId);
    await this.ctx.storage.setAlarm(Date.now());
  }

  async alarm(): Promise<void> {
    const [asked] = this.ctx.storage.sql.exec("SELECT * FROM test_work ORDER BY rowid DESC").toArray() as {
      work: string;
      user_id: string;
    }[];
    const sessions = SessionManager.create(this.#store.forUser(asked?.user_id ?? ""))
      .withContext("memory", { scope: "user" })
      .onLearning(learn);
    if (asked?.work === "upkeep") await this.#memory.alarm();
    if (asked?.work === "append") {
      await sessions.appendAll("chat", [
        { id: "by-alarm", role: "assistant", parts: [{ type: "text", text: "Rang." }] },
      ]);
    }
    if (asked?.work === "learn") await sessions.learnDue({ idleFor: 0 });
  }
}

const entrance = () =>
  createWorker((env: { readonly Memory: ObjectNamespace }) => ({
    namespace: env.Memory,
    authenticate: authenticator({ tokens: new UserTokens(SECRET, { audience: AUDIENCE }) }),
  }));
/** Two Workers, which share nothing but the objects. */
const workers = [entrance(), entrance()];

export default {
  fetch(request: Request, env: Parameters<typeof route.fetch>[1]): Promise<Response> | Response {
    const worker = workers[Number(request.headers.get("worker") ?? -1)];
    return worker === undefined ? route.fetch(request, env) : worker.fetch(request, env as never);
  },
};
