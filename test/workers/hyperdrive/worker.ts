import { Client } from "pg";
import { postgres } from "../../../packages/postgres/src/postgres.js";
import {
  PostgresContextProvider,
  PostgresSearchProvider,
  PostgresSessionProvider,
  Session,
  SessionManager,
  type Store,
} from "../../../packages/stemma/src/session.js";
import { Agent, RemoteObject, route } from "../agent.js";

interface Env {
  readonly HYPERDRIVE: { readonly connectionString: string };
}

/** A Durable Object that keeps its conversation in Postgres. */
export class PostgresObject extends RemoteObject<Env> {
  #store: Promise<Store> | undefined;

  async call(method: keyof Session, ...args: unknown[]): Promise<unknown> {
    const session = Session.create(await this.#open())
      .forSession("hyperdrive")
      .withContext("memory", { description: "Short facts", maxTokens: 1100 })
      .withCachedPrompt();
    return (Session.prototype as unknown as Record<string, (...args: unknown[]) => unknown>)[method]?.apply(
      session,
      args,
    );
  }

  async list(): Promise<string[]> {
    return (await SessionManager.create(await this.#open()).list()).map(({ id }) => id);
  }

  #open(): Promise<Store> {
    this.#store ??= this.#connect();
    return this.#store;
  }

  async #connect(): Promise<Store> {
    const client = new Client({ connectionString: this.env.HYPERDRIVE.connectionString });
    await client.connect();
    return postgres(client);
  }
}

/** The sample of the documents' page, word for word but for import specifiers and what calls it from outside. */
export class DocumentsObject extends Agent<Env> {
  private session?: Session;
  private pgClient?: Client;

  async onStart(): Promise<void> {
    const client = new Client({
      connectionString: this.env.HYPERDRIVE.connectionString,
    });
    await client.connect();
    this.pgClient = client;

    const sessionId = "documents";
    this.session = Session.create(new PostgresSessionProvider(client, sessionId))
      .withContext("soul", {
        provider: {
          get: async () => "You are a helpful assistant.",
        },
      })
      .withContext("memory", {
        description: "Short facts",
        maxTokens: 1100,
        provider: new PostgresContextProvider(client, `memory_${sessionId}`),
      })
      .withContext("knowledge", {
        description: "Searchable knowledge base",
        provider: new PostgresSearchProvider(client),
      })
      .withCachedPrompt(new PostgresContextProvider(client, `_prompt_${sessionId}`));
  }

  async call(method: keyof Session, ...args: unknown[]): Promise<unknown> {
    const session = await this.#start();
    return (session as unknown as Record<string, (...args: unknown[]) => unknown>)[method]?.(...args);
  }

  async useTool(name: string, input: Record<string, unknown>): Promise<unknown> {
    const tools = await (await this.#start()).tools();
    return tools[name]?.execute(input);
  }

  async stop(): Promise<void> {
    await this.pgClient?.end();
  }

  async #start(): Promise<Session> {
    if (this.session === undefined) await this.onStart();
    return this.session as Session;
  }
}

export default route;
