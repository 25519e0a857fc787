import { createHmac } from "node:crypto";
import { join } from "node:path";
import { ROOT } from "../../package/manifest.js";
import { sources } from "../sources.js";
import type { WorkerDefinition, Workerd } from "../workerd.js";
import { SECRET } from "./secret.js";
import type { Answer, Asked, Inside } from "./worker.js";

/** The worker of examples/memory-per-user, whose objects can be looked into. */
export const memories: WorkerDefinition<{ Memory: new () => Inside }> = {
  entry: "memory-per-user/worker.ts",
  objects: { Memory: true },
  plugins: [
    {
      name: "example",
      setup({ onResolve }) {
        const path = join(ROOT, "examples/memory-per-user/src/worker.ts");
        onResolve({ filter: /^example:memory-per-user$/ }, () => ({ path }));
      },
    },
    sources,
  ],
};

export type Memories = Workerd<{ Memory: new () => Inside }>;

/** A token as `UserTokens` makes it; `claims` takes the place of its own. */
export function tokenOf(userId: string, claims: object = {}, secret = SECRET): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const payload = { iss: "stemma", aud: "https://memory.example.com", sub: userId, exp, reach: {}, ...claims };
  const signed = `${part({ alg: "HS256" })}.${part(payload)}`;
  return `${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`;
}

/** Sends the requests of several users at once, those of each one after the other. */
export async function askAll(workerd: Memories, users: readonly (readonly Asked[])[]): Promise<Answer[][]> {
  const response = await workerd.fetch("/", { method: "POST", body: JSON.stringify(users) });
  return (await response.json()) as Answer[][];
}

/** The requests of one user. */
export function requestsOf(userId: string, token = tokenOf(userId)) {
  const get = (path: string): Asked => ({ token, method: "GET", path });
  const post = (path: string, body: unknown): Asked => ({ token, method: "POST", path, body });
  return {
    append: (session: string, ...messages: unknown[]) => post(`/v1/sessions/${session}/messages`, { messages }),
    history: (session: string) => get(`/v1/sessions/${session}/messages`),
    sessions: () => get("/v1/sessions"),
    search: (query: string) => post("/v1/search", { query }),
    upkeep: () => get("/upkeep"),
    get,
    post,
  };
}
