import { ApiKeys, authenticator, createServer, UserTokens } from "@stemma/server";
import type { Store } from "@stemma/store";
import { memory } from "@stemma/store/memory";
import { StemmaClient, type StemmaClientOptions } from "../../src/index.js";

export const HOST = "https://memory.example.com";

export type Fetch = (request: Request) => Promise<Response>;

/** A server on a store, and clients of it whose requests need no network. */
export async function served(store: Store = memory(), options: Partial<Parameters<typeof createServer>[1]> = {}) {
  const keys = new ApiKeys(store);
  const tokens = new UserTokens(store, { audience: HOST });
  const server = createServer(store, { authenticate: authenticator({ keys, tokens }), tokens, keys, ...options });
  const { key: apiKey } = await keys.create({ name: "test", access: "admin" });
  const seen: Request[] = [];
  const clientOf = (own: StemmaClientOptions = {}, fetch: Fetch = server) =>
    new StemmaClient({
      baseUrl: HOST,
      apiKey,
      ...own,
      fetch: (request) => {
        seen.push(request.clone());
        return fetch(request);
      },
    });
  return { store, server, keys, tokens, apiKey, clientOf, client: clientOf(), seen };
}

export const said = (id: string, text = id, role = "user") => ({ id, role, parts: [{ type: "text", text }] });

/** All of a list. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
