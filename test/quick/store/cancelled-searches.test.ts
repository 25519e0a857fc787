import { it } from "vitest";
import { chatHandler } from "../../../packages/stemma/src/ai-sdk.js";
import { SessionManager } from "../../../packages/stemma/src/session.js";
import { createStudio } from "../../../packages/stemma/src/studio.js";
import { memory } from "../../../packages/store/src/memory.js";
import { textMessage } from "../../helpers/messages.js";
import { connect } from "../../mcp/connect.js";

type Search = (manager: SessionManager, signal: AbortSignal) => Promise<unknown>;

const SEARCHES: Record<string, Search> = {
  session_search: async (manager, abortSignal) =>
    (await manager.tools()).session_search.execute({ query: "tea" }, { abortSignal }),
  "the chat handler": async (manager, signal) => {
    const handler = chatHandler({ sessions: manager, model: "test/none", authenticate: () => ({ userId: "ada" }) });
    return handler(new Request("http://host/api/chat?q=tea", { signal }));
  },
  "the studio": async (manager, signal) => {
    const studio = createStudio(manager, { authorize: () => true });
    return studio(new Request("http://localhost/studio/api/search?q=tea", { signal }));
  },
  "the MCP server": async (manager, signal) => {
    const client = await connect(manager.store);
    return client.callTool({ name: "search", arguments: { query: "tea" } }, { signal }).catch(() => client.close());
  },
};

it.each(Object.keys(SEARCHES))("a reranker is told where nobody waits for a search of %s any longer", async (name) => {
  const cancel = new AbortController();
  let tell = () => {};
  const told = new Promise<void>((resolve) => {
    tell = resolve;
  });
  const store = memory().withReranker(
    (_query, _passages, { signal }) => {
      signal.addEventListener("abort", tell);
      cancel.abort();
      return new Promise<number[]>(() => {});
    },
    { timeout: 1_000_000 },
  );
  const manager = SessionManager.create(store);
  await manager.forUser("ada").appendAll("chat", [textMessage("a", "green tea")]);
  await SEARCHES[name]?.(manager, cancel.signal);
  await told;
  await store.close();
});
