import { SessionManager } from "@stemma/session";
import { memory } from "@stemma/store/memory";
import { expect, it, vi } from "vitest";
import { createMcp } from "../../../src/serve/mcp-handler.js";

it("tells whoever is no longer let in of no more changes", async () => {
  const store = memory();
  const mcp = createMcp((error) => {
    throw error;
  });
  let isLetIn = true;
  const context = {
    principal: { id: "ada", access: "memory" as const },
    store,
    sessions: SessionManager.create(store),
    requestId: "1",
    isLetIn: async () => isLetIn,
  };
  const accept = "application/json, text/event-stream";
  const post = async (body: object, connection = {}) => {
    const headers = { accept, "content-type": "application/json", ...connection };
    return mcp.handler(
      new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(body) }),
      context,
    );
  };
  const clientInfo = { name: "test", version: "1" };
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const opened = await post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
  expect(await opened.text()).toContain("protocolVersion");
  const connection = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  try {
    const request = new Request("http://localhost/mcp", { headers: { accept, ...connection } });
    const told = (await mcp.handler(request, context)).text();
    let isOver = false;
    void told.then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(60_000);
    expect(isOver).toBe(false);
    isLetIn = false;
    await vi.advanceTimersByTimeAsync(12_000);
    expect(isOver).toBe(true);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
    await mcp.close();
    await store.close();
  }
});
