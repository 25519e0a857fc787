import { DurableObject } from "cloudflare:workers";
import { authenticator, UserTokens } from "stemma/server";
import { createWorker, userMemory } from "stemma/worker";

interface Env {
  readonly MEMORY: DurableObjectNamespace<UserMemory>;
  readonly TOKEN_SECRET: string;
}

/** All sessions and the memory of one user. */
export class UserMemory extends DurableObject<Env> {
  readonly #memory = userMemory(this.ctx, { retention: { olderThan: 90 * 86_400_000, keepMessages: 10_000 } });
  override fetch(request: Request): Promise<Response> {
    return this.#memory.fetch(request);
  }
  override alarm(): Promise<void> {
    return this.#memory.alarm();
  }
}

export default createWorker((env: Env) => ({
  namespace: env.MEMORY,
  authenticate: authenticator({ tokens: new UserTokens(env.TOKEN_SECRET, { audience: "https://memory.example.com" }) }),
}));
