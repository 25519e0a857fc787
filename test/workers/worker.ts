import {
  AgentContextProvider,
  AgentSearchProvider,
  R2SkillProvider,
  Session,
  SessionManager,
  type Store,
} from "../../packages/stemma/src/session.js";
import { createCompactFunction } from "../../packages/stemma/src/utils.js";
import { type DurableObjectSqlStorage, durableObject } from "../../packages/store/src/durable-object.js";
import { Agent, RemoteObject, route } from "./agent.js";

interface Env {
  readonly SKILLS_BUCKET: ConstructorParameters<typeof R2SkillProvider>[0];
}

const sessionMethods = Session.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;
const managerMethods = SessionManager.prototype as unknown as Record<string, (...args: unknown[]) => unknown>;

/** A Durable Object with a conversation in it, and a registry of others. */
abstract class Conversation extends Agent<Env> {
  /** What the documents pass to `create`. */
  abstract readonly host: object;

  #session: Session | undefined;
  #manager: SessionManager | undefined;

  get session(): Session {
    this.#session ??= Session.create(this.host)
      .withContext("soul", { description: "Identity", provider: { get: async () => "You are a helpful assistant." } })
      .withContext("memory", { description: "Learned facts", maxTokens: 1100 })
      .withContext("skills", { provider: new R2SkillProvider(this.env.SKILLS_BUCKET, { prefix: "skills/" }) })
      .withContext("knowledge", { provider: new AgentSearchProvider(this.host) })
      .withCachedPrompt()
      .onCompaction(createCompactFunction({ summarize: async () => "What was said before.", tailTokenBudget: 20 }));
    return this.#session;
  }

  get manager(): SessionManager {
    this.#manager ??= SessionManager.create(this.host).withContext("memory").withCachedPrompt();
    return this.#manager;
  }

  /** Calls a method of the session. */
  call(method: keyof Session, ...args: unknown[]): unknown {
    return sessionMethods[method]?.apply(this.session, args);
  }

  /** Calls a method of the manager. */
  manage(method: keyof SessionManager, ...args: unknown[]): unknown {
    return managerMethods[method]?.apply(this.manager, args);
  }

  /** Calls a method of a session of the manager. */
  callIn(sessionId: string, method: keyof Session, ...args: unknown[]): unknown {
    return sessionMethods[method]?.apply(this.manager.getSession(sessionId), args);
  }

  /** Calls one of the session's tools, as a model does. */
  async useTool(name: string, input: Record<string, unknown>, toolCallId = "call"): Promise<unknown> {
    const tool = (await this.session.tools())[name];
    return tool?.execute(input, { toolCallId });
  }

  /** Uses a tool of a named session that is wired up by hand, as the documents show it. */
  async useToolIn(sessionId: string, name: string, input: Record<string, unknown>): Promise<unknown> {
    const session = Session.create(this.host)
      .forSession(sessionId)
      .withContext("knowledge", { provider: new AgentSearchProvider(this.host) })
      .withContext("notes", { provider: new AgentContextProvider(this.host, "memory") });
    await session.tools();
    if (name === "notes") return session.getContextBlock("notes")?.content;
    return (await session.tools())[name]?.execute(input, { toolCallId: "call" });
  }

  async putSkill(key: string, text: string, description?: string): Promise<void> {
    await this.env.SKILLS_BUCKET.put(key, text, description === undefined ? {} : { customMetadata: { description } });
  }

  async putSkills(prefix: string, count: number): Promise<void> {
    const keys = Array.from({ length: count }, (_, index) => `${prefix}${index}`);
    while (keys.length > 0) await Promise.all(keys.splice(0, 100).map((key) => this.putSkill(key, key)));
  }

  takeBroadcasts(): unknown[] {
    return this.broadcasts.splice(0);
  }

  /** What the tables hold, without times. */
  tables(): Record<string, unknown[]> {
    const { sql } = this.ctx.storage;
    const names = sql.exec("SELECT name FROM sqlite_master WHERE type = 'table'").toArray() as { name: string }[];
    const kept = names.filter(({ name }) => !name.startsWith("_cf") && !name.startsWith("sqlite_"));
    return Object.fromEntries(kept.map(({ name }) => [name, sql.exec(`SELECT * FROM "${name}"`).toArray()]));
  }

  /** Makes the database refuse a message. */
  breakInsertOf(messageId: string): void {
    this.ctx.storage.sql.exec(
      `CREATE TRIGGER broken AFTER INSERT ON assistant_messages WHEN NEW.id = '${messageId}'
       BEGIN SELECT RAISE(ABORT, 'broken'); END`,
    );
  }

  async deleteAll(): Promise<void> {
    await this.ctx.storage.deleteAll();
  }

  /** How many rows a table has. */
  count(table: string): number {
    const rows = this.ctx.storage.sql.exec(`SELECT count(*) AS count FROM ${table}`).toArray();
    return (rows[0] as { count: number }).count;
  }

  /** Ends this instance: the next call wakes another one, with nothing in memory. */
  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }
}

/** On `durableObject(ctx)`. */
export class ChatObject extends Conversation {
  readonly host = durableObject(this.ctx);
}

/** On the object itself: it has a `sql` tagged template. */
export class AgentObject extends Conversation {
  readonly host = this;
}

/** Counts what its store costs. */
export class CountedObject extends RemoteObject {
  readonly #rows = { read: 0, written: 0 };
  #session: Session | undefined;

  /** Rows read and written by one call of the session, and by opening the store if it is the first. */
  async cost(search: boolean, method: keyof Session, ...args: unknown[]): Promise<{ read: number; written: number }> {
    this.#session ??= configured(durableObject({ storage: this.#counted() }, { search }));
    const before = { ...this.#rows };
    await sessionMethods[method]?.apply(this.#session, args);
    return { read: this.#rows.read - before.read, written: this.#rows.written - before.written };
  }

  /** Appends `count` messages at once. */
  async fill(search: boolean, first: number, count: number): Promise<void> {
    const session = configured(durableObject(this.ctx, { search }));
    await session.freezeSystemPrompt();
    await session.appendAll(Array.from({ length: count }, (_, index) => numbered(first + index)));
  }

  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }

  #counted(): DurableObjectSqlStorage {
    const { storage } = this.ctx;
    const rows = this.#rows;
    const exec = (query: string, ...values: (string | number | null)[]) => {
      const cursor = storage.sql.exec(query, ...values);
      const counted = <T>(result: T): T => {
        rows.read += cursor.rowsRead;
        rows.written += cursor.rowsWritten;
        return result;
      };
      return { toArray: () => counted(cursor.toArray()), raw: () => counted([...cursor.raw()]) };
    };
    return {
      sql: { exec, databaseSize: storage.sql.databaseSize },
      transactionSync: (work) => storage.transactionSync(work),
    };
  }
}

function configured(store: Store): Session {
  return Session.create(store)
    .withContext("memory", { description: "Learned facts" })
    .withCachedPrompt()
    .onCompaction(async () => null)
    .compactAfter(10_000_000);
}

function numbered(index: number) {
  const text = `This is message number ${index}, about the deployment on Friday.`;
  return { id: `message-${index}`, role: index % 2 ? "user" : "assistant", parts: [{ type: "text", text }] };
}

/** Kept in the older key-value storage. */
export class KeyValueObject extends RemoteObject {
  open(): string {
    return durableObject(this.ctx).name;
  }
}

export default route;
