import { Client } from "pg";
import { postgres } from "../../../src/postgres.js";
import { Session, SessionManager, type Store } from "../../../src/session.js";
import { RemoteObject, route } from "../agent.js";

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

export default route;
