import example, { UserMemory } from "example:memory-per-user";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { textMessage } from "../../helpers/messages.js";
import { RemoteObject, route, type TestContext } from "../agent.js";
import { SECRET } from "./secret.js";

/** The object of the example, which counts its rows and can be looked into. */
export class Memory extends UserMemory {
  readonly #ctx: TestContext;
  readonly #rows: { read: number; written: number };

  constructor(ctx: TestContext, env: ConstructorParameters<typeof UserMemory>[1]) {
    const rows = count(ctx);
    super(ctx, env);
    this.#rows = rows;
    this.#ctx = ctx;
  }

  override async fetch(request: Request): Promise<Response> {
    if (request.url.startsWith("http://worker/Memory/")) return new Inside(this.#ctx, null).fetch(request);
    Object.assign(this.#rows, { read: 0, written: 0 });
    const { status, body } = await super.fetch(request);
    return new Response(body, { status, headers: { rows: JSON.stringify(this.#rows) } });
  }
}

/** What a test may do to an object's storage. */
export class Inside extends RemoteObject<null> {
  sql(statement: string): object[] {
    return this.ctx.storage.sql.exec(statement).toArray();
  }

  /** Appends `count` messages to a session of the user at once: all of them have a word in common, each one a word of its own. */
  async fill(userId: string, sessionId: string, count: number): Promise<void> {
    const messages = Array.from({ length: count }, (_, n) => textMessage(`${n}`, `The deployment number${n} is done.`));
    await SessionManager.create(durableObject(this.ctx).forUser(userId)).appendAll(sessionId, messages);
  }

  /** When its upkeep is due, in milliseconds from now. */
  async alarm(): Promise<number | null> {
    const time = await this.ctx.storage.getAlarm();
    return time === null ? null : time - Date.now();
  }

  async ring(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** Ends this instance: the next request wakes another one, with nothing in memory. */
  async evict(): Promise<void> {
    await this.ctx.storage.sync();
    this.ctx.abort("evicted");
  }
}

/** What the statements of an object read and wrote. */
function count({ storage: { sql } }: TestContext): { read: number; written: number } {
  const rows = { read: 0, written: 0 };
  const exec = sql.exec.bind(sql);
  const counted: typeof sql.exec = (query, ...values) => {
    const cursor = exec(query, ...values);
    const add = <T>(result: T): T => {
      rows.read += cursor.rowsRead;
      rows.written += cursor.rowsWritten;
      return result;
    };
    return {
      toArray: () => add(cursor.toArray()),
      raw: () => add([...cursor.raw()]),
      rowsRead: cursor.rowsRead,
      rowsWritten: cursor.rowsWritten,
    };
  };
  Object.defineProperty(sql, "exec", { value: counted });
  return rows;
}

/** A request of a user, and what came of it. */
export interface Asked {
  readonly token: string;
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
}

export interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the worker answers.
  readonly body: any;
  /** The rows that the object's database counted. */
  readonly read: number;
  readonly written: number;
}

/** One for all requests, as workerd has it. */
let env: { readonly MEMORY: unknown; readonly TOKEN_SECRET: string } | undefined;

async function ask({ token, method, path, body }: Asked, MEMORY: unknown): Promise<Answer> {
  env ??= { MEMORY, TOKEN_SECRET: SECRET };
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const request = new Request(`http://worker${path}`, init);
  const response = await example.fetch(request, env);
  const text = await response.text();
  const rows = response.headers.get("rows");
  const counted = rows === null ? { read: 0, written: 0 } : JSON.parse(rows);
  return { status: response.status, body: JSON.parse(text), ...counted };
}

export default {
  async fetch(request: Request, env: Parameters<typeof route.fetch>[1]): Promise<Response> {
    if (new URL(request.url).pathname !== "/") return route.fetch(request, env);
    // Many requests in one, because each way in costs more than what it asks for: of several users at once, of each in turns.
    const users = ((await request.json()) as Asked[][]).map(async (requests) => {
      const answers: Answer[] = [];
      for (const asked of requests) answers.push(await ask(asked, env.Memory));
      return answers;
    });
    return Response.json(await Promise.all(users));
  },
};
