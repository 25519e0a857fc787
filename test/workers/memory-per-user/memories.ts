import { createHmac } from "node:crypto";
import { join } from "node:path";
import { ROOT } from "../../package/manifest.js";
import { sources } from "../sources.js";
import type { WorkerDefinition, Workerd } from "../workerd.js";
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

export function tokenOf(userId: string, secret = "a secret of the test"): string {
  return `${userId}.${createHmac("sha256", secret).update(userId).digest("hex")}`;
}

/** Sends the requests of several users at once, those of each one after the other. */
export async function askAll(workerd: Memories, users: readonly (readonly Asked[])[]): Promise<Answer[][]> {
  const response = await workerd.fetch("/", { method: "POST", body: JSON.stringify(users) });
  return (await response.json()) as Answer[][];
}

/** The requests of one user. */
export function requestsOf(userId: string, token = tokenOf(userId)) {
  const get = (path: string): Asked => ({ token, method: "GET", path });
  return {
    append: (session: string, body: unknown): Asked => ({ token, method: "POST", path: `/sessions/${session}`, body }),
    history: (session: string) => get(`/sessions/${session}`),
    sessions: () => get("/sessions"),
    search: (query: string) => get(`/search?q=${encodeURIComponent(query)}`),
    upkeep: () => get("/upkeep"),
    get,
  };
}
