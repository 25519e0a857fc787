import { userOf } from "./token";
import type { UserMemory } from "./user-memory";

export { UserMemory } from "./user-memory";

interface Env {
  readonly MEMORY: DurableObjectNamespace<UserMemory>;
  readonly TOKEN_SECRET: string;
}

export default {
  async fetch(request, env) {
    const userId = await userOf(request, env.TOKEN_SECRET);
    if (userId === null) return new Response("Sign in first.", { status: 401 });
    // The token alone says whose object it is: no path leads to another user's.
    return env.MEMORY.get(env.MEMORY.idFromName(userId)).fetch(request);
  },
} satisfies ExportedHandler<Env>;
