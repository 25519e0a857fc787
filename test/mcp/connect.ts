import { Client, InMemoryTransport } from "@modelcontextprotocol/client";
import { createMcpServer, type McpServerOptions } from "../../packages/stemma/src/mcp.js";
import type { Store } from "../../packages/store/src/contract/store.js";

/** A client that is connected to a server of the store, in this process. */
export async function connect(store: Store, options: McpServerOptions = {}) {
  const [here, there] = InMemoryTransport.createLinkedPair();
  const server = createMcpServer(store, options);
  const client = new Client({ name: "test", version: "1.0.0" });
  await Promise.all([server.connect(there), client.connect(here)]);
  return client;
}

/** Calls a tool that must succeed, and gives its answer. */
export async function call<T = Record<string, unknown>>(client: Client, name: string, args: object = {}): Promise<T> {
  const answer = await client.callTool({ name, arguments: { ...args } });
  const [content] = answer.content;
  const text = content?.type === "text" ? content.text : "";
  if (answer.isError) throw new RangeError(text);
  if (JSON.stringify(answer.structuredContent) !== text) throw new RangeError(`The text is another one: ${text}`);
  return answer.structuredContent as T;
}

/** Calls a tool that must fail, and gives what it says. */
export async function failureOf(client: Client, name: string, args: object = {}): Promise<string> {
  const answer = await client.callTool({ name, arguments: { ...args } });
  const [content] = answer.content;
  if (!answer.isError || content?.type !== "text") throw new RangeError(`It succeeded: ${JSON.stringify(answer)}`);
  return content.text;
}

export interface Results {
  results: {
    id: string;
    title: string;
    url: string;
    text: string;
    metadata: { kind: string; session?: string; scope?: string; writtenBy: string; time: string | null };
  }[];
  nextCursor: string | null;
}

/** Every page of a search. */
export async function allResults(client: Client, args: object): Promise<Results["results"]> {
  const found: Results["results"] = [];
  let cursor: string | undefined;
  do {
    const page = await call<Results>(client, "search", { ...args, cursor });
    found.push(...page.results);
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
