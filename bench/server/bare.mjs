// A server that knows no keys, no limits and no document, and checks nothing: what HTTP and the store take by themselves.
import { createServer } from "node:http";
import { getRequestListener } from "@hono/node-server";
import { Hono } from "hono";
import { sqlite } from "../../packages/stemma/dist/sqlite.js";

const store = sqlite(process.argv[2]);
const app = new Hono();
app.post("/v1/sessions/:id/messages", async (c) => {
  const { messages } = await c.req.json();
  return c.json(await store.session(c.req.param("id")).append(messages));
});
app.get("/v1/sessions/:id/messages", async (c) => {
  const limit = Number(c.req.query("limit"));
  return c.json({ data: await store.session(c.req.param("id")).recent(0, { minMessages: limit }) });
});
const server = createServer(getRequestListener(app.fetch));
server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })));
