// Mastra's server on hono, with its memory in a SQLite file. It needs Node 22.
import { execFileSync } from "node:child_process";

const PACKAGES = [
  ...["node@22", "@mastra/hono@1.7.9", "@mastra/core@1.71.0", "@mastra/memory@1", "@mastra/libsql@1"],
  ...["hono@4", "@hono/node-server@1", "zod@4"],
];
const MEMORY = "/api/memory";
const OF_AGENT = "?agentId=chat";

export const mastra = {
  name: "Mastra's server",
  empty: "/ok",
  calls: { append: "`save-messages`", read: "`messages`, the last 40," },
  files: {
    "package.json": JSON.stringify({ private: true, type: "module" }),
    "server.mjs": `import { serve } from "@hono/node-server";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { MastraServer } from "@mastra/hono";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { Hono } from "hono";

const storage = new LibSQLStore({ id: "memory", url: "file:memory.db" });
const memory = new Memory({ storage });
const chat = new Agent({ id: "chat", name: "chat", instructions: "Say nothing.", model: "openai/none", memory });
const app = new Hono();
app.get("/ok", (c) => c.json({ ok: true }));
const mastra = new Mastra({ agents: { chat }, storage, logger: false });
await new MastraServer({ app, mastra }).init();
serve({ fetch: app.fetch, port: Number(process.argv[2]), hostname: "localhost" });
`,
  },
  install: (folder) =>
    execFileSync("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error", ...PACKAGES], { cwd: folder }),
  command: (_folder, port) => ["node_modules/.bin/node", "server.mjs", String(port)],
  async begin(send, name) {
    const [threadId, resourceId] = [`thread-${name}`, "user"];
    await send("POST", `${MEMORY}/threads${OF_AGENT}`, { threadId, resourceId, title: name });
    return {
      append: (number, text) => {
        const content = { format: 2, parts: [{ type: "text", text }] };
        const id = `${name}-${number}`;
        const createdAt = new Date().toISOString();
        const messages = [{ id, role: "user", threadId, resourceId, createdAt, content }];
        return send("POST", `${MEMORY}/save-messages${OF_AGENT}`, { messages });
      },
      read: () => send("GET", `${MEMORY}/threads/${threadId}/messages${OF_AGENT}`),
    };
  },
};
