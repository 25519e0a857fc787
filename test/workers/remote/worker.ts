import { createServer } from "../../../packages/server/src/index.js";
import {
  createWorker,
  type UserMemory,
  type UserMemoryContext,
  userMemory,
} from "../../../packages/server/src/worker/index.js";
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { RemoteObject, route } from "../agent.js";
import { OBJECT, TOOLS } from "./headers.js";

type Serve = (request: Request) => Promise<Response>;

const CALLS = "/v1/rpc";

/** An object whose store a request reaches as an administrator, and whose rows a test sees. */
export class StoreObject extends RemoteObject {
  /** A server for stores that search tool calls, and one for those that do not. */
  readonly #servers = new Map<boolean, Serve>();

  override fetch(request: Request): Promise<Response> {
    if (!request.url.endsWith(CALLS)) return super.fetch(request);
    return this.#serverOf(request.headers.has(TOOLS))(new Request(new URL(CALLS, request.url), request));
  }

  #serverOf(tools: boolean): Serve {
    const known = this.#servers.get(tools);
    if (known !== undefined) return known;
    const serve = createServer(durableObject(this.ctx, { search: { tools } }), {
      authenticate: () => ({ id: "root", access: "admin" }),
      maxBodyBytes: 64_000_000,
    });
    this.#servers.set(tools, serve);
    return serve;
  }

  /** Runs a statement, and gives its rows. */
  rows(statement: string, ...values: string[]): unknown[] {
    const rows = [...this.ctx.storage.sql.exec(statement, ...values).raw()];
    return rows.map((row) => row.map((value) => (value instanceof ArrayBuffer ? [...new Uint8Array(value)] : value)));
  }
}

/** The object of a user. */
export class UserObject {
  readonly #memory: UserMemory;

  constructor(ctx: UserMemoryContext) {
    this.#memory = userMemory(ctx, { maxBodyBytes: 64_000_000 });
  }

  fetch(request: Request): Promise<Response> {
    return this.#memory.fetch(request);
  }
}

type Env = Parameters<typeof route.fetch>[1] & { readonly UserObject: Parameters<typeof route.fetch>[1][string] };

/** Each user is whoever they say. */
const worker = createWorker<Env>(({ UserObject }) => ({
  namespace: UserObject,
  authenticate: ({ headers }) => ({ id: "user", access: "memory", userId: headers.get(OBJECT) ?? "" }),
}));

export default {
  fetch(request: Request, env: Env): Promise<Response> | Response {
    const isOfUser = new URL(request.url).pathname === CALLS;
    return isOfUser ? worker.fetch(request, env) : route.fetch(request, env);
  },
};
