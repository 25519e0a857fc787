import {
  type Access,
  authenticator,
  type Principal,
  type ServerOptions,
  UserTokens,
} from "../../../packages/server/src/index.js";
import {
  createWorker,
  type UserMemory,
  type UserMemoryContext,
  type UserMemoryOptions,
  userMemory,
} from "../../../packages/server/src/worker/index.js";
import { HOST } from "../../../packages/server/test/quick/rest-helpers.js";

/** A binding of workerd's. */
export interface Binding {
  idFromName(name: string): unknown;
  get(id: unknown): { fetch(request: Request): Promise<Response> };
}

const tokens = new UserTokens("a secret of the test, and of no one else", { audience: HOST });

/** Options of objects, by the server of a case: all objects of a Worker run in one isolate here. */
const optionsOf = new Map<string, UserMemoryOptions>();
const SERVER = "server-of-a-test";

/** The object of a user. */
export class Memory {
  #memory: UserMemory | undefined;

  constructor(private readonly ctx: UserMemoryContext) {}

  fetch(request: Request): Promise<Response> {
    this.#memory ??= userMemory(this.ctx, optionsOf.get(request.headers.get(SERVER) ?? ""));
    return this.#memory.fetch(request);
  }
}

/** A Worker whose objects nobody has used, and tokens for its users: without a name, for Ada. */
export async function served(memory: Binding, given: Partial<ServerOptions>, errors: unknown[]) {
  const { sessions, handlers, maxBodyBytes, limits } = given;
  const server = crypto.randomUUID();
  const onError = (error: unknown) => errors.push(error);
  optionsOf.set(server, { sessions, handlers, maxBodyBytes, limits, onError });
  const namespace = {
    idFromName: (userId: string) => memory.idFromName(`${server} ${userId}`),
    get: (id: unknown) => ({
      fetch: (request: Request) => {
        const headers = new Headers(request.headers);
        headers.set(SERVER, server);
        return memory.get(id).fetch(new Request(request, { headers }));
      },
    }),
  };
  const worker = createWorker(() => ({
    namespace,
    authenticate: authenticator({ tokens, authenticate: serviceOf }),
    tokens,
    onError,
  }));
  return {
    server: (request: Request) => worker.fetch(request, {}),
    keyOf: async ({ access = "memory", userId = "ada", ...reach }: Partial<Access> = {}) =>
      access === "memory" ? (await tokens.create({ userId, ...reach })).token : access,
  };
}

/** A service of no user. */
function serviceOf({ headers }: Request): Principal | null {
  const access = /^Bearer (mint|admin)$/.exec(headers.get("authorization") ?? "")?.[1];
  return access === undefined ? null : { id: access, access: access as "mint" | "admin" };
}
